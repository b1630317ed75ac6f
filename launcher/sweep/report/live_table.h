// The table that a terminal shows of a running sweep. Pure: its lines as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bp::launcher::sweep {

struct LiveTrial {
  int number = 0;
  std::optional<double> result = {};
  std::int64_t step = 0;
  double seconds = 0;
  std::optional<double> left = {};  // seconds until it ends, if it takes as long as others took
  std::string what = {};            // its parameters, or why it failed
};

struct LiveTable {
  std::string metric = {};
  std::vector<LiveTrial> best = {};     // the best first
  std::vector<LiveTrial> running = {};  // the longest-running first
  std::vector<LiveTrial> failed = {};   // the newest first
  std::string progress = {};            // the last line
};

// Returns at most `rows` lines of at most `columns` characters: a head, up to three of the best
// trials, those that run, up to two that failed, and `progress`. If rows are few, running trials
// give way first, and a line says how many are left out. With fewer than five rows there is only
// `progress`.
[[nodiscard]] std::vector<std::string> live_lines(const LiveTable& table,
                                                  std::size_t columns,
                                                  std::size_t rows);

}  // namespace bp::launcher::sweep
