// The output of a rank on its way to bprun's terminal and report. The first byte selects the mode
// and the position at which the output is cut in two.
#include <algorithm>

#include "base/quoted.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "launcher/report/likely_cause.h"
#include "launcher/report/line_assembler.h"
#include "launcher/report/same_warnings.h"

namespace {

using bp::test::require;
using namespace bp::launcher;

// The text must be valid UTF-8 without control characters of a terminal.
void require_harmless(std::string_view text) {
  require(bp::find_invalid_utf8(text) == std::string_view::npos);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = bp::next_code_point(text, at);
    require(c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f) || c > 0x9f);
  }
}

void show_line(std::string_view line) {
  require_harmless(bp::printable(line));
  constexpr std::size_t kMost = 80;
  const std::string quoted = bp::quoted_line(line, kMost);
  require_harmless(quoted);
  require(quoted.find('\n') == std::string::npos);
  // a byte takes at most four, and the note in the middle some more
  require(quoted.size() <= 4 * kMost + 60);
  const std::string_view warning = warning_part(line);
  require(warning.empty() || line.ends_with(warning));
  const std::string cause = likely_cause({.exit_code = 1, .last_errors = {std::string(line)}});
  require(cause.find('\n') == std::string::npos || line.find('\n') != std::string_view::npos);
}

}  // namespace

FUZZ_TARGET(rank_output) {
  if (size == 0) return 0;
  const std::string bytes = bp::test::text_of(data + 1, size - 1);
  const std::size_t middle = bytes.empty() ? 0 : data[0] / 4 % bytes.size();
  const auto mode = static_cast<LineMode>(data[0] % 3);
  LineAssembler assembler(mode);
  SameWarnings warnings(2);
  std::string shown;
  const auto show = [&](std::string_view line) {
    shown += line;
    if (mode == LineMode::bytes) return;
    require(line.find('\n') == std::string_view::npos);
    shown += '\n';
    show_line(line);
    (void)warnings.keep(static_cast<int>(shown.size() % 2), line, {});
  };
  assembler.feed(bytes.substr(0, middle), {}, show);
  show_line(assembler.live_text());
  assembler.feed(bytes.substr(middle), {}, show);
  assembler.finish(show);
  while (const auto warning = warnings.next_due(SameWarnings::Time::max())) (void)text_of(*warning);
  const bool redrawn = bytes.find('\r') != std::string::npos;
  if (mode == LineMode::bytes) {
    require(shown == bytes);
  } else if (!redrawn) {
    require(shown == bytes + (bytes.empty() || bytes.ends_with('\n') ? "" : "\n"));
  }
  return 0;
}
