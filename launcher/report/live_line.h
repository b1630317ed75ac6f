// The last line of a terminal, in which a rank's progress bar is redrawn below all other output.
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

  // `loop` and `sink` must outlive this object, and `sink` must write to a terminal.
  // `prefix_columns` is the width of the prefix.
  LiveLine(EventLoop& loop, Sink& sink, std::size_t prefix_columns);
  ~LiveLine() { loop_.cancel(timer_); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Sets the line to `prefix` and as much of `text` as fits next to it. Draws it at once or later,
  // at most ten times per second. An empty `text` removes it.
  void set(std::string_view prefix, std::string_view text);
  [[nodiscard]] int columns() const;  // columns for the text; one stays free
  void erase();                       // call it before printing other lines on the terminal
  void redraw();                      // call it after them

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
