#include "trainer/tasks/pretrain/masked_scores.h"

#include <cmath>
#include <limits>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

void MaskedTally::add(double loss, bool right) {
  ++values_[0];
  if (right) ++values_[1];
  ExactSum(std::span(values_).subspan(kCounts).first<ExactSum::kSize>()).add(loss);
}

double MaskedTally::mean_loss() const {
  if (tokens() == 0) return std::numeric_limits<double>::quiet_NaN();
  const std::span<const std::int64_t> all = values_;
  return ExactSum::value_of(all.subspan(kCounts).first<ExactSum::kSize>()) /
         static_cast<double>(tokens());
}

double MaskedTally::perplexity() const { return std::exp(mean_loss()); }

double MaskedTally::accuracy() const {
  if (tokens() == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(values_[1]) / static_cast<double>(tokens());
}

std::string masked_line(const std::string& name, const MaskedTally& tally, std::int64_t samples) {
  if (tally.tokens() == 0) {
    return concat(name, ": no token could be masked, ", with_commas(samples), " samples");
  }
  constexpr int kPercent = 100;
  return concat(name, ": loss ", fixed(tally.mean_loss(), 4), ", perplexity ",
                brief(tally.perplexity()), ", ", fixed(kPercent * tally.accuracy(), 1), " % of ",
                with_commas(tally.tokens()), " masked tokens right, ", with_commas(samples),
                " samples");
}

}  // namespace bp::trainer
