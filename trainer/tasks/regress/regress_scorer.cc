#include "trainer/tasks/regress/regress_scorer.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>

#include "base/text.h"
#include "trainer/report/error_rows.h"
#include "trainer/tasks/regress/regress_input.h"

namespace bp::trainer {
namespace {

// Returns the shortest text that reads back as the same float.
std::string number_text(double number) { return concat(static_cast<float>(number)); }

}  // namespace

std::vector<PredictionColumn> RegressScorer::columns() const {
  return {{"target", true}, {"prediction", true}};
}

void RegressScorer::keep(const Batch& block,
                         const at::Tensor& outputs,
                         std::vector<float>& kept) const {
  const auto* numbers = outputs.const_data_ptr<float>();
  kept.insert(kept.end(), numbers, numbers + block.rows);
}

void RegressScorer::set_fields(const Sample& sample,
                               std::span<const float> kept,
                               std::vector<std::string>& fields) const {
  const std::optional<double> target = target_of(sample);
  fields.assign(1, target ? number_text(*target) : "");
  fields.push_back(number_text(double{kept.front()}));
}

void RegressScorer::count(const Batch& block,
                          const at::Tensor& /*outputs*/,
                          std::span<const float> kept) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
    if (block.arrays[kHasTargetArray].integers[row] == 0) continue;
    tally_.add(block.arrays[kTargetArray].reals[row], double{kept[row]});
  }
}

std::vector<ScoredNumber> RegressScorer::scored() const {
  std::vector<ScoredNumber> all;
  for (std::int64_t i = 0; i < store().size(split()); ++i) {
    const Sample sample = store().load(split(), i);
    const std::optional<double> target = target_of(sample);
    if (!target) continue;
    all.push_back(
        {sample.sample_id, sample.text_id, *target, double{kept()[static_cast<std::size_t>(i)]}});
  }
  return all;
}

RegressScores RegressScorer::scores() const {
  std::vector<double> targets;
  std::vector<double> predictions;
  for (const ScoredNumber& one : scored()) {
    targets.push_back(one.target);
    predictions.push_back(one.prediction);
  }
  return regress_scores(tally_, targets, predictions);
}

EvaluationSummary RegressScorer::summary() const { return summary_of(scores()); }

std::vector<std::string> RegressScorer::lines(const std::string& name,
                                              const std::string& predictions) const {
  const RegressScores all = scores();
  if (all.samples > 0) return {regress_line(name, all)};
  return unscored(name + ": no targets", predictions);
}

Sections RegressScorer::sections() const {
  ErrorRows errors = error_rows(name_of(split()), scored());
  for (ErrorRow& row : errors.rows) row.text = store().text(row.text_id, split());
  return {error_section(errors)};
}

}  // namespace bp::trainer
