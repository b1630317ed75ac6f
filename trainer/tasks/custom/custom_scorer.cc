#include "trainer/tasks/custom/custom_scorer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/custom/custom_input.h"

namespace bp::trainer {

std::vector<PredictionColumn> CustomScorer::columns() const {
  std::vector<PredictionColumn> columns;
  for (const std::string& answer : task_->answers()) columns.push_back({answer, true});
  for (const std::string& column : task_->columns()) columns.push_back({column});
  return columns;
}

void CustomScorer::keep(const Batch& block,
                        const at::Tensor& outputs,
                        std::vector<float>& kept) const {
  const auto* const numbers = outputs.const_data_ptr<float>();
  kept.insert(kept.end(), numbers, numbers + block.rows * outputs.size(1));
}

void CustomScorer::set_fields(const Sample& sample,
                              std::span<const float> kept,
                              std::vector<std::string>& fields) const {
  const std::size_t answers = task_->answers().size();
  fields.assign(answers, "");
  const std::vector<double> numbers = answers_of(sample, answers);
  std::ranges::transform(numbers, fields.begin(), [](double number) { return concat(number); });
  std::vector<std::string> predicted = task_->predict(kept);
  if (predicted.size() != task_->columns().size()) {
    refuse(concat("predict() of the task ", task_->name(), " returned ",
                  counted(static_cast<std::int64_t>(predicted.size()), "field"), " for ",
                  counted(static_cast<std::int64_t>(task_->columns().size()), "column")));
  }
  std::ranges::move(predicted, std::back_inserter(fields));
}

CustomScorer::Answered CustomScorer::answered() const {
  Answered all;
  for (std::int64_t i = 0; i < store().size(split()); ++i) {
    const std::vector<double> answers =
        answers_of(store().load(split(), i), task_->answers().size());
    if (answers.empty()) continue;
    const float* const outputs = kept().data() + static_cast<std::size_t>(i) * outputs_;
    all.outputs.insert(all.outputs.end(), outputs, outputs + outputs_);
    all.answers.insert(all.answers.end(), answers.begin(), answers.end());
    ++all.samples;
  }
  return all;
}

// In blocks, each of which one thread computes, so that no number of threads changes the result.
double CustomScorer::mean_loss(Answered& all) const {
  constexpr std::size_t kBlock = 256;
  const at::NoGradGuard no_grad;
  const std::size_t answers = task_->answers().size();
  double sum = 0;
  for (std::size_t begin = 0; begin < all.samples; begin += kBlock) {
    const auto rows = static_cast<std::int64_t>(std::min(kBlock, all.samples - begin));
    const at::Tensor outputs =
        at::from_blob(all.outputs.data() + begin * outputs_,
                      {rows, static_cast<std::int64_t>(outputs_)}, at::kFloat);
    const at::Tensor wanted = at::from_blob(all.answers.data() + begin * answers,
                                            {rows, static_cast<std::int64_t>(answers)}, at::kDouble)
                                  .to(at::kFloat);
    std::vector<Figure> ignored;
    sum += task_->losses(outputs, wanted, ignored).to(at::kDouble).sum().item<double>();
  }
  return sum / static_cast<double>(all.samples);
}

EvaluationSummary CustomScorer::summary() const {
  const std::vector<std::string> names = task_->scores();
  Answered all = answered();
  if (all.samples == 0) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    EvaluationSummary summary{{{"loss", none}}};
    for (const std::string& name : names) summary.scores.emplace_back(name, none);
    return summary;
  }
  const std::size_t answers = task_->answers().size();
  std::vector<ScoredSample> samples;
  for (std::size_t i = 0; i < all.samples; ++i) {
    samples.push_back({{all.outputs.data() + i * outputs_, outputs_},
                       {all.answers.data() + i * answers, answers}});
  }
  EvaluationSummary summary{{{"loss", mean_loss(all)}}};
  const std::vector<double> scores = names.empty() ? std::vector<double>() : task_->score(samples);
  if (scores.size() != names.size()) {
    refuse(concat("score() of the task ", task_->name(), " returned ", scores.size(),
                  " numbers for ", names.size(), " names"));
  }
  for (std::size_t i = 0; i < names.size(); ++i) summary.scores.emplace_back(names[i], scores[i]);
  return summary;
}

std::vector<std::string> CustomScorer::lines(const std::string& name,
                                             const std::string& predictions) const {
  const EvaluationSummary all = summary();
  const std::string samples = concat(with_commas(store().size(split())), " samples");
  if (all.at("loss") != all.at("loss")) {
    return unscored(name + ": no answers", predictions);
  }
  constexpr int kDigits = 4;
  std::string line = name + ":";
  for (const auto& [key, value] : all.scores) {
    line += concat(" ", key, " ", fixed(value, kDigits), ",");
  }
  return {concat(line, " ", samples)};
}

}  // namespace bp::trainer
