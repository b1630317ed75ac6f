// Turns one output stream of one rank into whole lines with the rank's prefix. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/agent/messages.h"

namespace bp::launcher {

enum class PrefixStyle : std::uint8_t {
  none,     // the bytes as they are
  rank,     // [3] text
  horovod,  // [3]<stderr>: text
  time,     // 18:58:39.412 [3] text
};
[[nodiscard]] std::optional<PrefixStyle> prefix_style_of(std::string_view name);

// A progress bar redraws its line after '\r'. Behind a prefix only the last state of each line is
// kept, and shown at most once a second while it changes. A line over kMaxLine is cut into several.
class LineAssembler {
 public:
  using Time = std::chrono::system_clock::time_point;
  static constexpr std::size_t kMaxLine = 1U << 20U;

  LineAssembler(PrefixStyle style, int rank, Stream stream);

  // Appends to `out` what is whole now.
  void feed(std::string_view data, Time now, std::string& out);
  // The stream has ended: appends the last line, to which a line end is added behind a prefix.
  void finish(Time now, std::string& out);

 private:
  void emit(std::string_view line, Time now, std::string& out) const;
  void end_line(std::string_view rest, Time now, std::string& out);
  void show_progress(Time now, std::string& out);
  void pass_through(std::string_view data, std::string& out);

  PrefixStyle style_;
  std::string prefix_;
  std::string partial_;
  std::optional<Time> last_progress_;
};

}  // namespace bp::launcher
