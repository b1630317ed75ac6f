#include "trainer/report/lengths_section.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {

Section lengths_section(std::vector<SplitLengths> splits) {
  Section section{.title = "Lengths of the data",
                  .note = "In tokens, with [CLS] and [SEP].",
                  .table = table_of({"split", "samples", "least", "median", "95 %", "most"})};
  std::string folded;
  for (SplitLengths& split : splits) {
    std::vector<std::int32_t>& tokens = split.tokens;
    if (tokens.empty()) continue;
    if (!split.folded.empty()) folded += concat(' ', split.split, " has ", split.folded, '.');
    std::ranges::sort(tokens);
    // The least length that this share of the samples do not exceed.
    const auto at = [&](double share) {
      const auto last = static_cast<double>(tokens.size() - 1);
      return with_commas(tokens[static_cast<std::size_t>(share * last)]);
    };
    section.table.add({split.split, with_commas(static_cast<std::int64_t>(tokens.size())), at(0),
                       at(0.5), at(0.95), at(1)});
  }
  if (!folded.empty()) section.note += folded + " The scores are of samples.";
  return section;
}

}  // namespace bp::trainer
