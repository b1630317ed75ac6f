// Warnings that several ranks print alike are shown once: "[0] warning: ... [x6 ranks]". Pure.
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
// The same rank's second one is another warning: each rank's own are all shown.
class SameWarnings {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kWait{250};
  static constexpr std::size_t kMostWaiting = 256;  // what comes then is shown as it comes

  // `ranks`: how many may print.
  explicit SameWarnings(std::size_t ranks) : all_(ranks) {}

  struct Warning {
    std::string line;     // as its first rank wrote it
    std::set<int> ranks;  // that wrote it
    int first = 0;        // of them
    Time until;           // it waits so long at most
    std::string same;     // the part that is compared
  };

  // Whether the line of stderr was a warning and is kept; else it is the caller's to show.
  [[nodiscard]] bool keep(int rank, std::string_view line, Time now);
  // The next that has waited long enough, or for all ranks.
  [[nodiscard]] std::optional<Warning> next_due(Time now);
  [[nodiscard]] std::optional<Time> next_time() const;  // when there may be one
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  std::size_t all_;
  std::deque<Warning> waiting_;  // in the order in which they came
};

// The part of a warning that is alike on all ranks: what stands before it, such as time, process
// and rank, is left out. Empty: the line is no warning.
[[nodiscard]] std::string_view warning_part(std::string_view line);

// The line, and how many ranks wrote it.
[[nodiscard]] std::string text_of(const SameWarnings::Warning& warning);

}  // namespace bp::launcher
