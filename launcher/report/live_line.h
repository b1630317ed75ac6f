// The line at the bottom of a terminal that a rank's progress bar is redrawn in, below everything
// else that is printed.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "launcher/process/event_loop.h"
#include "launcher/report/sink.h"

namespace bp::launcher {

class LiveLine {
 public:
  static constexpr std::chrono::milliseconds kRedrawEvery{100};

  // Both must outlive it; `sink` writes to a terminal. `prefix_columns`: the width of all prefixes.
  LiveLine(EventLoop& loop, Sink& sink, std::size_t prefix_columns);
  ~LiveLine() { loop_.cancel(timer_); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // What is to stand there: `prefix` as it is, and as much of `text` as fits beside it. Drawn at
  // once or soon, ten times a second at most. An empty `text` ends it.
  void set(std::string_view prefix, std::string_view text);
  [[nodiscard]] int columns() const;  // for a text, with one left free
  void erase();                       // before other lines are printed on the terminal
  void redraw();                      // after them

 private:
  void draw();

  EventLoop& loop_;
  Sink& sink_;
  std::size_t prefix_columns_;
  std::string prefix_;
  std::string text_;
  bool drawn_ = false;
  EventLoop::Clock::time_point drawn_at_{};
  EventLoop::TimerId timer_ = 0;
};

}  // namespace bp::launcher
