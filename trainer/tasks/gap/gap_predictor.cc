#include "trainer/tasks/gap/gap_predictor.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/gap/gap_scores.h"
#include "trainer/tasks/softmax.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kOutputs = 3;

}  // namespace

std::string gap_id_of(const Sample& sample) {
  std::string id;
  for (const std::int64_t byte : sample.arrays[kGapId].integers) id += static_cast<char>(byte);
  return id;
}

std::vector<PredictionColumn> GapPredictor::columns() const {
  return {{"id"}, {"label"}, {"prediction"}, {"p_A", true}, {"p_B", true}, {"p_NEITHER", true}};
}

void GapPredictor::keep(const Batch& block,
                        const at::Tensor& outputs,
                        std::vector<float>& kept) const {
  const auto* logits = outputs.const_data_ptr<float>();
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
    append_probabilities(std::span(logits + row * kOutputs, kOutputs), kept);
  }
}

std::size_t GapPredictor::kept_of(const Sample& /*sample*/) const { return kOutputs; }

void GapPredictor::set_fields(const Sample& sample,
                              std::span<const float> kept,
                              std::vector<std::string>& fields) const {
  const std::int64_t label = sample.arrays[kGapLabel].integers.front();
  const auto answer = static_cast<std::size_t>(std::ranges::max_element(kept) - kept.begin());
  fields = {gap_id_of(sample),
            label < 0 ? "" : gap_answers()[static_cast<std::size_t>(label)],
            gap_answers()[answer],
            probability_text(double{kept[1]}),
            probability_text(double{kept[2]}),
            probability_text(double{kept[0]})};
}

std::string GapPredictor::competition_line(const Sample& sample,
                                           std::span<const float> kept) const {
  return kaggle_line(gap_id_of(sample), {double{kept[0]}, double{kept[1]}, double{kept[2]}});
}

std::string GapPredictor::competition_header() const { return kaggle_header(); }

}  // namespace bp::trainer
