#include "trainer/tasks/pretrain/masked_scorer.h"

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "base/check.h"
#include "base/text.h"
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

}  // namespace

std::vector<PredictionColumn> MaskedPredictor::columns() const {
  return {{"masked", true}, {"right", true}, {"loss", true}};
}

void MaskedPredictor::keep(const Batch& block,
                           const at::Tensor& outputs,
                           std::vector<float>& kept) const {
  struct Row {
    int masked = 0;
    int right = 0;
    double loss = 0;
  };
  std::vector<Row> rows(static_cast<std::size_t>(block.rows));
  for_each_token(block, outputs, [&](std::size_t row, float loss, bool right) {
    ++rows[row].masked;
    rows[row].right += right ? 1 : 0;
    rows[row].loss += double{loss};
  });
  for (const Row& row : rows) {
    kept.insert(kept.end(), {static_cast<float>(row.masked), static_cast<float>(row.right),
                             row.masked == 0 ? 0 : static_cast<float>(row.loss / row.masked)});
  }
}

void MaskedPredictor::set_fields(const Sample& /*sample*/,
                                 std::span<const float> kept,
                                 std::vector<std::string>& fields) const {
  fields.assign(1, concat(kept[0]));
  fields.push_back(concat(kept[1]));
  fields.push_back(kept[0] == 0 ? "" : concat(kept[2]));
}

void MaskedScorer::add(const Batch& block, const at::Tensor& outputs) {
  predictor_.keep(block, outputs, kept());
  for_each_token(block, outputs, [&](std::size_t /*row*/, float loss, bool right) {
    tally_.add(double{loss}, right);
  });
}

EvaluationSummary MaskedScorer::summary() const {
  return {{{"loss", tally_.mean_loss()},
           {"perplexity", tally_.perplexity()},
           {"accuracy", tally_.accuracy()}}};
}

std::vector<std::string> MaskedScorer::lines(const std::string& name,
                                             const std::string& /*predictions*/) const {
  return {masked_line(name, tally_, samples_)};
}

}  // namespace bp::trainer
