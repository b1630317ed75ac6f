// Turns one output stream of one rank into whole lines. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace bp::launcher {

enum class LineMode : std::uint8_t {
  lines,  // each line once; a line that '\r' redraws at most once per second while it changes
  live,   // each line once; live_text() returns a line that is being redrawn
  bytes,  // the bytes unchanged, in pieces that end with a line end or a redraw
};

// Of a redrawn line it keeps only the last state, which is what a terminal would show. It cuts a
// line over kMaxLine into several, between UTF-8 characters.
class LineAssembler {
 public:
  using Time = std::chrono::system_clock::time_point;
  // Without the line end, except in mode `bytes`.
  using Show = std::function<void(std::string_view line)>;
  static constexpr std::size_t kMaxLine = 1U << 20U;

  explicit LineAssembler(LineMode mode) : mode_(mode) {}

  // Shows the lines that are complete now.
  void feed(std::string_view data, Time now, const Show& show);
  // Call it at the end of the stream. Shows the last line, even if it has no line end.
  void finish(const Show& show);

  // Returns the current state of the line that is being redrawn; empty if there is none.
  [[nodiscard]] std::string_view live_text() const;
  [[nodiscard]] bool has_cut() const { return has_cut_; }  // it has cut a line over kMaxLine

 private:
  void end_line(std::string_view rest, const Show& show);
  void redraw(Time now, const Show& show);
  void cut_line(const Show& show);
  void pass_through(std::string_view data, const Show& show);

  LineMode mode_;
  std::string partial_;   // the current, incomplete line
  bool redrawn_ = false;  // partial_ has a '\r'
  bool has_cut_ = false;
  std::optional<Time> last_progress_;
};

}  // namespace bp::launcher
