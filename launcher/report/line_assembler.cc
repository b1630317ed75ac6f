#include "launcher/report/line_assembler.h"

#include <algorithm>

#include "comm/base/text.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

constexpr std::chrono::seconds kProgressInterval{1};

std::string make_prefix(PrefixStyle style, int rank, Stream stream) {
  switch (style) {
    case PrefixStyle::none:
      return "";
    case PrefixStyle::rank:
    case PrefixStyle::time:
      return concat("[", rank, "] ");
    case PrefixStyle::horovod:
      return concat("[", rank, stream == Stream::out ? "]<stdout>:" : "]<stderr>:");
  }
  return "";
}

// What a terminal would show of a line that was redrawn. A '\r' at its very end belongs to "\r\n".
std::string_view last_state(std::string_view line) {
  if (line.empty()) {
    return line;
  }
  const std::size_t redrawn = line.rfind('\r', line.size() - 2);
  return line.size() < 2 || redrawn == std::string_view::npos ? line : line.substr(redrawn + 1);
}

}  // namespace

std::optional<PrefixStyle> prefix_style_of(std::string_view name) {
  if (name == "none") return PrefixStyle::none;
  if (name == "rank") return PrefixStyle::rank;
  if (name == "horovod") return PrefixStyle::horovod;
  if (name == "time") return PrefixStyle::time;
  return std::nullopt;
}

LineAssembler::LineAssembler(PrefixStyle style, int rank, Stream stream)
    : style_(style), prefix_(make_prefix(style, rank, stream)) {}

void LineAssembler::emit(std::string_view line, Time now, std::string& out) const {
  if (style_ == PrefixStyle::time) {
    out += concat(clock_time(now), " ");
  }
  out += prefix_;
  out += line;
  out += '\n';
}

void LineAssembler::feed(std::string_view data, Time now, std::string& out) {
  if (style_ == PrefixStyle::none) {
    pass_through(data, out);
    return;
  }
  for (std::size_t end = 0; (end = data.find('\n')) != std::string_view::npos;) {
    end_line(data.substr(0, end), now, out);
    data.remove_prefix(end + 1);
  }
  // Only what is new is searched: a line may grow for long.
  const bool redrawn = data.find('\r') != std::string_view::npos || partial_.ends_with('\r');
  partial_ += data;
  if (redrawn) {
    show_progress(now, out);
  }
  if (partial_.size() > kMaxLine) {
    end_line("", now, out);
  }
}

void LineAssembler::end_line(std::string_view rest, Time now, std::string& out) {
  if (partial_.empty()) {
    emit(last_state(rest), now, out);
    return;
  }
  partial_ += rest;
  emit(last_state(partial_), now, out);
  partial_.clear();
}

void LineAssembler::show_progress(Time now, std::string& out) {
  const std::string_view text = partial_;
  // The last byte may yet turn out to be half of "\r\n".
  const std::size_t redraw =
      text.size() < 2 ? std::string_view::npos : text.rfind('\r', text.size() - 2);
  if (redraw == std::string_view::npos) {
    return;
  }
  const std::string_view state = last_state(text.substr(0, redraw));
  if (!state.empty() && (!last_progress_ || now - *last_progress_ >= kProgressInterval)) {
    last_progress_ = now;
    emit(state, now, out);
  }
  partial_.erase(0, redraw + 1);
}

// Up to the last line end or redraw, so that lines of several ranks do not mix.
void LineAssembler::pass_through(std::string_view data, std::string& out) {
  const std::size_t whole = data.find_last_of("\r\n") + 1;  // npos + 1 is 0
  if (whole > 0 || partial_.size() + data.size() > kMaxLine) {
    out += partial_;
    partial_.clear();
    out += data.substr(0, whole);
  }
  partial_ += data.substr(whole);
}

void LineAssembler::finish(Time now, std::string& out) {
  if (style_ == PrefixStyle::none) {
    out += partial_;
    partial_.clear();
  } else if (!partial_.empty()) {
    end_line("", now, out);
  }
}

}  // namespace bp::launcher
