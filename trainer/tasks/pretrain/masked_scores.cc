#include "trainer/tasks/pretrain/masked_scores.h"

#include <cmath>
#include <limits>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

void MaskedTally::add(double loss, bool right, Predicted what) {
  const std::size_t at = begin(what);
  ++values_[at];
  if (right) ++values_[at + 1];
  ExactSum(std::span(values_).subspan(at + kCounts).first<ExactSum::kSize>()).add(loss);
}

double MaskedTally::mean_loss(Predicted what) const {
  if (count(what) == 0) return std::numeric_limits<double>::quiet_NaN();
  const std::span<const std::int64_t> all = values_;
  return ExactSum::value_of(all.subspan(begin(what) + kCounts).first<ExactSum::kSize>()) /
         static_cast<double>(count(what));
}

double MaskedTally::perplexity() const { return std::exp(mean_loss()); }

double MaskedTally::accuracy(Predicted what) const {
  if (count(what) == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(values_[begin(what) + 1]) / static_cast<double>(count(what));
}

std::string masked_line(const std::string& name, const MaskedTally& tally, std::int64_t samples) {
  if (tally.count() == 0) {
    return concat(name, ": no token could be masked, ", with_commas(samples), " samples");
  }
  constexpr int kPercent = 100;
  const double next = tally.accuracy(Predicted::next_sentences);
  const std::string of_pairs =
      std::isnan(next) ? "" : concat(fixed(kPercent * next, 1), " % of next sentences right, ");
  return concat(name, ": loss ", fixed(tally.mean_loss(), 4), ", perplexity ",
                brief(tally.perplexity()), ", ", fixed(kPercent * tally.accuracy(), 1), " % of ",
                with_commas(tally.count()), " masked tokens right, ", of_pairs,
                with_commas(samples), " samples");
}

}  // namespace bp::trainer
