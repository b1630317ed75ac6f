#include "trainer/report/lengths_section.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "trainer/common/numbers.h"

namespace bp::trainer {

SplitLengths lengths_of(const std::string& split,
                        std::vector<std::int32_t> tokens,
                        std::int64_t texts) {
  std::ranges::sort(tokens);
  // The least length that this share of the samples do not exceed.
  const auto at = [&](double share) {
    return tokens[static_cast<std::size_t>(share * static_cast<double>(tokens.size() - 1))];
  };
  return {.split = split,
          .samples = static_cast<std::int64_t>(tokens.size()),
          .texts = texts,
          .least = at(0),
          .median = at(0.5),
          .usual = at(0.95),
          .most = at(1)};
}

std::string folded_text(const std::string& split, std::int64_t samples, std::int64_t texts) {
  if (texts == samples) return "";
  return concat(split, ": ", with_commas(samples), " samples of ", with_commas(texts), " texts");
}

Section lengths_section(const std::vector<SplitLengths>& splits) {
  Section section{.title = "Lengths of the data",
                  .note = "In tokens, with [CLS] and [SEP].",
                  .table = table_of({"split", "samples", "least", "median", "95 %", "most"})};
  for (const SplitLengths& split : splits) {
    const std::string folded = folded_text(split.split, split.samples, split.texts);
    if (!folded.empty()) section.note += concat(" In ", folded, ".");
    section.table.add({split.split, with_commas(split.samples), with_commas(split.least),
                       with_commas(split.median), with_commas(split.usual),
                       with_commas(split.most)});
  }
  return section;
}

}  // namespace bp::trainer
