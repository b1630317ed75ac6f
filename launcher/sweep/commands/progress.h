// What a sweep prints on stderr: a table that a terminal redraws, or a line every ten seconds.
#pragma once

#include <chrono>
#include <string>

#include "launcher/sweep/driver/driver.h"
#include "launcher/sweep/report/live_table.h"
#include "launcher/sweep/space/metric.h"

namespace bp::launcher::sweep {

class Progress {
 public:
  Progress(std::string metric, Direction direction, bool quiet);

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
