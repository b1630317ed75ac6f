#include "launcher/report/line_assembler.h"

#include <algorithm>
#include <utility>

namespace bp::launcher {
namespace {

constexpr std::chrono::seconds kProgressInterval{1};

// Programs that redraw a line first clear it. After a prefix that control sequence would appear as
// garbage.
std::string_view without_clearing(std::string_view text) {
  for (const std::string_view clear : {"\x1b[K", "\x1b[0K", "\x1b[2K"}) {
    if (text.starts_with(clear)) {
      return text.substr(clear.size());
    }
  }
  return text;
}

// Returns the index of the '\r' before the last non-empty state. A '\r' at the very end ends a
// state, or is half of "\r\n".
std::size_t last_redraw(std::string_view line) {
  return line.size() < 2 ? std::string_view::npos : line.rfind('\r', line.size() - 2);
}

std::string_view last_state(std::string_view line) {
  const std::size_t redrawn = last_redraw(line);
  return redrawn == std::string_view::npos ? line : without_clearing(line.substr(redrawn + 1));
}

// Returns the length of `text` without an incomplete UTF-8 character at its end.
std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0xc0U) {
      const std::size_t length = byte >= 0xf0U ? 4 : byte >= 0xe0U ? 3 : 2;
      return length > back ? text.size() - back : text.size();
    }
    if (byte < 0x80U) {
      break;
    }
  }
  return text.size();
}

}  // namespace

void LineAssembler::feed(std::string_view data, Time now, const Show& show) {
  if (mode_ == LineMode::bytes) {
    pass_through(data, show);
    return;
  }
  // Searches only the new data, because a line may grow over many calls.
  redrawn_ |= data.find('\r') != std::string_view::npos;
  const bool search = redrawn_;
  for (std::size_t end = 0; (end = data.find('\n')) != std::string_view::npos;) {
    redrawn_ = search;
    end_line(data.substr(0, end), show);
    data.remove_prefix(end + 1);
  }
  redrawn_ |= search && data.find('\r') != std::string_view::npos;
  partial_ += data;
  if (redrawn_) {
    redraw(now, show);
  }
  if (partial_.size() > kMaxLine) {
    cut_line(show);
  }
}

void LineAssembler::end_line(std::string_view rest, const Show& show) {
  if (!partial_.empty()) {
    partial_ += rest;
    rest = partial_;
  }
  show(redrawn_ ? last_state(rest) : rest);
  partial_.clear();
  redrawn_ = false;
}

// Shows the state before the last, which is complete, and drops it.
void LineAssembler::redraw(Time now, const Show& show) {
  const std::size_t last = last_redraw(partial_);
  if (last == std::string_view::npos) {
    return;
  }
  const std::string_view state = last_state(std::string_view(partial_).substr(0, last));
  const bool time_to_show = !last_progress_ || now - *last_progress_ >= kProgressInterval;
  if (mode_ == LineMode::lines && !state.empty() && time_to_show) {
    last_progress_ = now;
    show(state);
  }
  partial_.erase(0, last);  // keeps the '\r', which marks what follows as a redraw
}

std::string_view LineAssembler::live_text() const {
  if (!redrawn_) {
    return "";
  }
  std::string_view text = partial_;
  text = text.substr(0, text.find_last_not_of('\r') + 1);  // npos + 1 is 0
  return last_state(text);
}

void LineAssembler::cut_line(const Show& show) {
  has_cut_ = true;
  std::string rest = partial_.substr(whole_characters(partial_));
  partial_.resize(partial_.size() - rest.size());
  end_line("", show);
  partial_ = std::move(rest);
}

// Shows data up to the last line end or redraw, so that lines of several ranks do not mix.
void LineAssembler::pass_through(std::string_view data, const Show& show) {
  const std::size_t whole = data.find_last_of("\r\n") + 1;  // npos + 1 is 0
  if (whole > 0 || partial_.size() + data.size() > kMaxLine) {
    partial_ += data.substr(0, whole);
    show(partial_);
    partial_.clear();
  }
  partial_ += data.substr(whole);
}

void LineAssembler::finish(const Show& show) {
  if (mode_ == LineMode::bytes && !partial_.empty()) {
    show(partial_);
    partial_.clear();
  } else if (!partial_.empty() && !(redrawn_ && last_state(partial_).empty())) {
    end_line("", show);
  }
}

}  // namespace bp::launcher
