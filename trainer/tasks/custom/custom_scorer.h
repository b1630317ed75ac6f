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
#include "trainer/tasks/task.h"

namespace bp::trainer {

class CustomPredictor : public Predictor {
 public:
  explicit CustomPredictor(std::shared_ptr<const CustomTask> task) : task_(std::move(task)) {}

  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override {
    return task_->outputs();
  }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

 private:
  std::shared_ptr<const CustomTask> task_;
};

// Everything is computed from the outputs of all samples, after evaluate() has collected them.
class CustomScorer : public Scorer {
 public:
  // The store must outlive it.
  CustomScorer(std::shared_ptr<const CustomTask> task, const SampleStore& store, Split split);

  void add(const Batch& block, const at::Tensor& outputs) override {
    predictor_.keep(block, outputs, kept());
  }
  [[nodiscard]] std::span<std::int64_t> counts() override { return {}; }
  [[nodiscard]] const Predictor& predictor() const override { return predictor_; }

  [[nodiscard]] EvaluationSummary summary() const override;
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] std::string sections() const override { return ""; }
  [[nodiscard]] std::vector<ResultFile> files() const override { return {}; }

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
  const SampleStore& store_;
  Split split_;
  CustomPredictor predictor_;
};

}  // namespace bp::trainer
