// The predictions of a classifier: a label or several, and the probability of each. Scores them on
// a split.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/classify/labelled_rows.h"
#include "trainer/tasks/classify/row_scorer.h"
#include "trainer/tasks/scorer.h"
#include "trainer/tasks/text_rows.h"

namespace bp::trainer {

class ClassScorer : public Scorer {
 public:
  struct Options {
    std::vector<std::string> labels = {};  // the model's
    std::vector<int> label_map = {};       // the model's place of each of the samples' labels
    bool several = false;                  // a sample has any number of labels
    double threshold = 0.5;                // then labels of this probability or more are predicted
    char separator = '|';                  // and this is between those of a row
    int top = 0;  // a row has so many labels with their probabilities; 0: all
    AnswerPer per = AnswerPer::text;
  };
  explicit ClassScorer(const Options& options, const StoredSplit& scored = {});

  // label, prediction, and the probability of each label (p_LABEL), or the most probable labels,
  // each with its probability (top_1, top_1_p).
  [[nodiscard]] std::vector<PredictionColumn> columns() const override;
  // outputs: logits, [rows, labels]. Keeps them.
  void keep(const Batch& block, const at::Tensor& outputs, std::vector<float>& kept) const override;
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override {
    return form_.labels.size();
  }
  [[nodiscard]] bool joins_samples() const override { return per_ == AnswerPer::text; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override;

  [[nodiscard]] EvaluationSummary summary() const override { return scored().summary(); }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override;
  [[nodiscard]] Sections sections() const override;
  [[nodiscard]] std::vector<ResultFile> files() const override;
  [[nodiscard]] std::vector<PrCurve> pr_curves() const override;

  // All rows of the split.
  [[nodiscard]] RowScorer scored() const;
  [[nodiscard]] ErrorRows errors(const RowScorer& scored) const;

 private:
  void append_shares(std::span<const float> logits, std::vector<float>& to) const;
  // Return the model's labels: of a sample with these ones, and that these probabilities predict.
  [[nodiscard]] std::vector<int> answers_of(std::span<const std::int64_t> stored) const;
  [[nodiscard]] std::vector<int> predictions_of(std::span<const float> shares) const;
  [[nodiscard]] Section label_counts() const;
  void add_top_fields(std::span<const float> shares, std::vector<std::string>& fields) const;

  LabelledRows form_;  // without rows
  std::vector<int> label_map_;
  double threshold_;
  std::size_t top_;  // 0: all
  AnswerPer per_;
};

}  // namespace bp::trainer
