// Shows the progress of a sweep on stderr: a table that a terminal redraws, or a line every ten
// seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/driver/driver.h"
#include "launcher/sweep/space/metric.h"

namespace bp::launcher::sweep {

// The table that a terminal shows of a running sweep.
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

class SweepProgress {
 public:
  SweepProgress(std::string metric, Direction direction, bool quiet);

  void say(const std::string& line);
  void show(const SweepView& view);
  void finish(const std::string& rest);  // says the last state

 private:
  void draw(LiveTable table);
  void erase();

  std::string metric_;
  Direction direction_;
  bool quiet_;
  bool redraws_;
  int drawn_ = 0;  // lines
  std::string last_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace bp::launcher::sweep
