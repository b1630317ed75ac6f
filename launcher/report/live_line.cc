#include "launcher/report/live_line.h"

#include <algorithm>

#include "base/text.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {

LiveLine::LiveLine(EventLoop& loop, Sink& sink, std::size_t prefix_columns)
    : loop_(loop), sink_(sink), prefix_columns_(prefix_columns) {}

// A line as wide as the terminal would wrap and could not be redrawn.
int LiveLine::columns() const {
  return std::max(columns_of(sink_.fd()) - static_cast<int>(prefix_columns_) - 1, 0);
}

void LiveLine::set(std::string_view prefix, std::string_view text) {
  if (text == text_) {
    return;
  }
  prefix_ = prefix;
  text_ = text;
  if (text_.empty()) {
    erase();
    return;
  }
  loop_.cancel(timer_);
  const auto due = drawn_at_ + kRedrawEvery - EventLoop::Clock::now();
  if (due.count() <= 0) {
    draw();
  } else {
    timer_ = loop_.after(due, [this] { draw(); });
  }
}

void LiveLine::draw() {
  // Draws nothing while the terminal is paused: states that it has not taken must not pile up.
  if (text_.empty() || columns() == 0 || sink_.pending() != 0) {
    return;
  }
  const std::string shown = fit_line(text_, static_cast<std::size_t>(columns()));
  sink_.write(concat(drawn_ ? kClearLine : "", prefix_, shown));
  drawn_ = true;
  drawn_at_ = EventLoop::Clock::now();
}

void LiveLine::erase() {
  if (drawn_) {
    sink_.write(kClearLine);
    drawn_ = false;
  }
}

void LiveLine::redraw() {
  if (!drawn_) {
    draw();
  }
}

}  // namespace bp::launcher
