#include "trainer/tasks/pretrain/masked_scorer.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstddef>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/pretrain/pretrain_input.h"

namespace bp::trainer {
namespace {

// Calls `use` for each masked token with its row, its loss, and whether the model guessed it.
template <class Use>
void for_each_token(const Batch& block, const at::Tensor& outputs, const Use& use) {
  const BatchArray& ids = masked_ids(block);
  const auto* next = outputs.const_data_ptr<float>();
  const auto* const end = next + outputs.numel();
  for (std::size_t row = 0; row < ids.sizes.size(); ++row) {
    const auto* const own = ids.integers.data() + row * static_cast<std::size_t>(ids.width);
    for (std::int32_t i = 0; i < ids.sizes[row]; ++i, next += 2) {
      BP_CHECK(next != end, "each masked token has an output");
      use(row, next[0], static_cast<std::int64_t>(next[1]) == own[i]);
    }
  }
}

// Calls `use` for each sample with its row, its loss, and what the model says of its segments.
template <class Use>
void for_each_pair(const Batch& block, const at::Tensor& outputs, const Use& use) {
  const auto rows = static_cast<std::size_t>(block.rows);
  BP_CHECK(outputs.size(0) >= block.rows, "each sample has an output");
  const auto* next = outputs.const_data_ptr<float>() + outputs.numel() - 2 * rows;
  for (std::size_t row = 0; row < rows; ++row, next += 2) {
    use(row, next[0], static_cast<std::int64_t>(next[1]));
  }
}

constexpr const char* kFollows = "follows";
constexpr const char* kRandom = "random";

}  // namespace

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

std::vector<PredictionColumn> MaskedScorer::columns() const {
  std::vector<PredictionColumn> columns = {{"masked", true}, {"right", true}, {"loss", true}};
  if (pairs_) columns.insert(columns.end(), {{"next_sentence"}, {"next_sentence_prediction"}});
  return columns;
}

void MaskedScorer::keep(const Batch& block,
                        const at::Tensor& outputs,
                        std::vector<float>& kept) const {
  struct Row {
    int masked = 0;
    int right = 0;
    double loss = 0;
    std::int64_t next = 0;
  };
  std::vector<Row> rows(static_cast<std::size_t>(block.rows));
  for_each_token(block, outputs, [&](std::size_t row, float loss, bool right) {
    ++rows[row].masked;
    rows[row].right += right ? 1 : 0;
    rows[row].loss += double{loss};
  });
  if (pairs_) {
    for_each_pair(block, outputs, [&](std::size_t row, float /*loss*/, std::int64_t next) {
      rows[row].next = next;
    });
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    kept.insert(kept.end(), {static_cast<float>(row.masked), static_cast<float>(row.right),
                             row.masked == 0 ? 0 : static_cast<float>(row.loss / row.masked)});
    if (!pairs_) continue;
    const std::int64_t right = block.arrays[kNextSentenceArray].integers[i];
    kept.insert(kept.end(), {static_cast<float>(right), static_cast<float>(row.next)});
  }
}

void MaskedScorer::set_fields(const Sample& /*sample*/,
                              std::span<const float> kept,
                              std::vector<std::string>& fields) const {
  fields.assign(1, concat(kept[0]));
  fields.push_back(concat(kept[1]));
  fields.push_back(kept[0] == 0 ? "" : concat(kept[2]));
  if (!pairs_) return;
  for (const float next : {kept[3], kept[4]}) fields.emplace_back(next == 0 ? kFollows : kRandom);
}

void MaskedScorer::count(const Batch& block,
                         const at::Tensor& outputs,
                         std::span<const float> /*kept*/) {
  for_each_token(block, outputs, [&](std::size_t /*row*/, float loss, bool right) {
    tally_.add(double{loss}, right);
  });
  if (!pairs_) return;
  const std::vector<std::int64_t>& right = block.arrays[kNextSentenceArray].integers;
  for_each_pair(block, outputs, [&](std::size_t row, float loss, std::int64_t next) {
    tally_.add(double{loss}, next == right[row], Predicted::next_sentences);
  });
}

EvaluationSummary MaskedScorer::summary() const {
  EvaluationSummary summary{{{"loss", tally_.mean_loss()},
                             {"perplexity", tally_.perplexity()},
                             {"accuracy", tally_.accuracy()}}};
  if (!pairs_) return summary;
  constexpr auto kNext = Predicted::next_sentences;
  summary.scores.emplace_back("next_sentence_loss", tally_.mean_loss(kNext));
  summary.scores.emplace_back("next_sentence_accuracy", tally_.accuracy(kNext));
  return summary;
}

std::vector<std::string> MaskedScorer::lines(const std::string& name,
                                             const std::string& /*predictions*/) const {
  return {masked_line(name, tally_, samples_)};
}

}  // namespace bp::trainer
