// The prefix of each line of a rank's output. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

enum class PrefixStyle : std::uint8_t {
  none,     // no prefix; the bytes are unchanged
  rank,     // [3] text
  horovod,  // [3]<stderr>: text
  time,     // 18:58:39.412 [3] text
};
[[nodiscard]] std::optional<PrefixStyle> prefix_style_of(std::string_view name);

struct LinePrefix {
  PrefixStyle style = PrefixStyle::rank;
  std::string text;  // the prefix without the time; in the rank's colour if colours are on

  // Appends the prefix to `out`.
  void add_to(std::string& out, std::chrono::system_clock::time_point now) const;
};

[[nodiscard]] LinePrefix make_prefix(PrefixStyle style, int rank, Stream stream, bool colours);

}  // namespace bp::launcher
