#include "trainer/report/lengths_section.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

std::string lengths_section(std::vector<SplitLengths> splits) {
  std::string rows;
  std::string folded;
  for (SplitLengths& split : splits) {
    std::vector<std::int32_t>& tokens = split.tokens;
    if (tokens.empty()) continue;
    if (!split.folded.empty()) folded += concat(' ', html(split.split), " has ", split.folded, '.');
    std::ranges::sort(tokens);
    // The least length that this share of the samples do not exceed.
    const auto at = [&](double share) {
      const auto last = static_cast<double>(tokens.size() - 1);
      return with_commas(tokens[static_cast<std::size_t>(share * last)]);
    };
    rows += concat("<tr><th scope=\"row\">", html(split.split), "</th><td>",
                   with_commas(static_cast<std::int64_t>(tokens.size())), "</td><td>", at(0),
                   "</td><td>", at(0.5), "</td><td>", at(0.95), "</td><td>", at(1), "</td></tr>\n");
  }
  if (rows.empty()) return "";
  return concat(
      "<section class=\"card\"><h2>Lengths of the data</h2>\n"
      "<p class=\"quiet\">In tokens, with [CLS] and [SEP].",
      folded.empty() ? "" : concat(folded, " The scores are of samples."),
      "</p>\n"
      "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">split</th>"
      "<th scope=\"col\">samples</th><th scope=\"col\">least</th>"
      "<th scope=\"col\">median</th><th scope=\"col\">95 %</th>"
      "<th scope=\"col\">most</th></tr></thead>\n<tbody>\n",
      rows, "</tbody></table></div></section>\n");
}

}  // namespace bp::trainer
