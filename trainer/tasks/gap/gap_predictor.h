// The predictions of a model for GAP: the probabilities of neither, A and B.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/predictor.h"

namespace bp::trainer {

class GapPredictor : public Predictor {
 public:
  // The row's ID, its answer and the model's, and the probabilities p_A, p_B and p_NEITHER.
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: logits, [rows, 3]. Keeps the probabilities, in the order of the outputs.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& sample) const override;
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;
  // Kaggle's.
  [[nodiscard]] std::string competition_line(const Sample& sample,
                                             std::span<const float> kept) const override;
  [[nodiscard]] std::string competition_header() const override;
};

[[nodiscard]] std::string gap_id_of(const Sample& sample);

}  // namespace bp::trainer
