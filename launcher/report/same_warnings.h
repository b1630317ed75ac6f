// Merges equal warnings of several ranks into one line: "[0] warning: ... [x6 ranks]". Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace bp::launcher {

// A warning waits until all ranks have printed it, at most kWait. Other lines do not wait for it.
// If a rank repeats a warning, that counts as another warning, so none of its own is dropped.
class SameWarnings {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kWait{250};
  static constexpr std::size_t kMostWaiting = 256;  // further warnings are shown at once

  // `ranks` is the number of ranks whose output is shown.
  explicit SameWarnings(std::size_t ranks) : all_(ranks) {}

  struct Warning {
    std::string line;     // as the first rank wrote it
    std::set<int> ranks;  // the ranks that wrote it
    int first = 0;        // the first of these ranks
    Time until;           // the end of its wait
    std::string same;     // the part that is compared between ranks
  };

  // Keeps a line of stderr if it is a warning, and returns true. If it returns false, the caller
  // must show the line.
  [[nodiscard]] bool keep(int rank, std::string_view line, Time now);
  // Returns the next warning that has waited for kWait, or that all ranks have printed.
  [[nodiscard]] std::optional<Warning> next_due(Time now);
  [[nodiscard]] std::optional<Time> next_time() const;  // when next_due() should be called again
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  std::size_t all_;
  std::deque<Warning> waiting_;  // in the order of their arrival
};

// Returns the part of a warning that is equal on all ranks, without what precedes it, such as time,
// process and rank. Returns an empty text if the line is not a warning.
[[nodiscard]] std::string_view warning_part(std::string_view line);

// Returns the line, with the number of ranks if several wrote it.
[[nodiscard]] std::string text_of(const SameWarnings::Warning& warning);

}  // namespace bp::launcher
