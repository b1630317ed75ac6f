#include "launcher/report/line_prefix.h"

#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {

std::optional<PrefixStyle> prefix_style_of(std::string_view name) {
  if (name == "none") return PrefixStyle::none;
  if (name == "rank") return PrefixStyle::rank;
  if (name == "horovod") return PrefixStyle::horovod;
  if (name == "time") return PrefixStyle::time;
  return std::nullopt;
}

LinePrefix make_prefix(PrefixStyle style, int rank, Stream stream, bool colours) {
  if (style == PrefixStyle::none) {
    return {style, ""};
  }
  std::string text = concat("[", rank, "]");
  if (style == PrefixStyle::horovod) {
    text += stream == Stream::out ? "<stdout>:" : "<stderr>:";
  }
  if (colours) {
    text = concat(colour_of_rank(rank), text, kNoColour);
  }
  return {style, style == PrefixStyle::horovod ? text : text + ' '};
}

void LinePrefix::add_to(std::string& out, std::chrono::system_clock::time_point now) const {
  if (style == PrefixStyle::time) {
    out += clock_time(now);
    out += ' ';
  }
  out += text;
}

}  // namespace bp::launcher
