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
  lines,  // each line once; one that is redrawn by '\r' at most once a second while it changes
  live,   // each line once; what is redrawn is for live_text() to ask
  bytes,  // pieces as they come, each up to the end of a line or to a redraw, with that end
};

// Of a line that was redrawn only the last state is kept, which is what a terminal would show. A
// line over kMaxLine is cut into several, between characters of UTF-8.
class LineAssembler {
 public:
  using Time = std::chrono::system_clock::time_point;
  using Show = std::function<void(std::string_view line)>;  // without its end, but for bytes
  static constexpr std::size_t kMaxLine = 1U << 20U;

  explicit LineAssembler(LineMode mode) : mode_(mode) {}

  // Shows what is whole now.
  void feed(std::string_view data, Time now, const Show& show);
  // The stream has ended: shows the last line, whether it was ended or not.
  void finish(const Show& show);

  // The line that is being redrawn, as it stands; empty where there is none.
  [[nodiscard]] std::string_view live_text() const;
  [[nodiscard]] bool has_cut() const { return has_cut_; }  // a line over kMaxLine

 private:
  void end_line(std::string_view rest, const Show& show);
  void redraw(Time now, const Show& show);
  void cut_line(const Show& show);
  void pass_through(std::string_view data, const Show& show);

  LineMode mode_;
  std::string partial_;   // the line under way
  bool redrawn_ = false;  // it has a '\r'
  bool has_cut_ = false;
  std::optional<Time> last_progress_;
};

}  // namespace bp::launcher
