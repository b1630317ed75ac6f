// Scores rows with labels, wherever they are from. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "trainer/report/error_rows.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/report/pr_curve.h"
#include "trainer/tasks/classify/labelled_rows.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/classify/tally.h"

namespace bp::trainer {

class RowScorer {
 public:
  // `losses`: of the rows that count.
  RowScorer(LabelledRows rows, const LossSum& losses);

  [[nodiscard]] const Scores& scores() const { return scores_; }
  // Returns whether a row has an answer; only then the functions below but summary() may be called.
  [[nodiscard]] bool known() const { return scores_.labelled > 0; }

  [[nodiscard]] EvaluationSummary summary() const;
  // Returns the lines for the terminal. `name`: what was scored, such as "test".
  [[nodiscard]] std::vector<std::string> lines(const std::string& name) const;
  // Returns the rows with the highest losses; of equal ones, the first. `least`: see
  // LabelledRows::loss_of(). `identify` returns a row's text and ids.
  [[nodiscard]] ErrorRows errors(const std::string& name,
                                 double least,
                                 const std::function<ErrorRow(std::size_t row)>& identify) const;
  // Returns the sections of report.html.
  [[nodiscard]] Sections sections(const std::string& name, const ErrorRows& errors) const;
  [[nodiscard]] std::string classes_file() const;    // classes.csv
  [[nodiscard]] std::string confusion_file() const;  // confusion.csv, of one label a row
  // Of one label a row, for each class.
  [[nodiscard]] std::vector<PrCurve> pr_curves() const;

 private:
  LabelledRows rows_;
  Scores scores_;
};

}  // namespace bp::trainer
