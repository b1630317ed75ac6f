// The predictions and scores of a program's own task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bp/trainer/custom_task.h"
#include "trainer/tasks/scorer.h"

namespace bp::trainer {

// Everything is computed from the outputs of all samples, after evaluate() has collected them.
class CustomScorer : public Scorer {
 public:
  CustomScorer(std::shared_ptr<const CustomTask> task, const StoredSplit& scored)
      : Scorer(scored), task_(std::move(task)), outputs_(task_->outputs()) {}

  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return outputs_; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;

 private:
  // The samples with answers.
  struct Answered {
    std::vector<float> outputs;   // [samples, outputs]
    std::vector<double> answers;  // [samples, answers]
    std::size_t samples = 0;
  };
  [[nodiscard]] Answered answered() const;
  [[nodiscard]] double mean_loss(Answered& all) const;

  std::shared_ptr<const CustomTask> task_;
  std::size_t outputs_;
};

}  // namespace bp::trainer
