#include "trainer/tasks/gap/gap_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/gap/gap_section.h"
#include "trainer/tasks/softmax.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kOutputs = 3;

GapProbabilities probabilities_at(std::span<const float> kept, std::size_t row) {
  return {double{kept[3 * row]}, double{kept[3 * row + 1]}, double{kept[3 * row + 2]}};
}

std::string gap_id_of(const Sample& sample) {
  std::string id;
  for (const std::int64_t byte : sample.arrays[kGapId].integers) id += static_cast<char>(byte);
  return id;
}

}  // namespace

std::vector<PredictionColumn> GapScorer::columns() const {
  return {{"id"}, {"label"}, {"prediction"}, {"p_A", true}, {"p_B", true}, {"p_NEITHER", true}};
}

void GapScorer::keep(const Batch& block,
                     const at::Tensor& outputs,
                     std::vector<float>& kept) const {
  const auto* logits = outputs.const_data_ptr<float>();
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
    append_probabilities(std::span(logits + row * kOutputs, kOutputs), kept);
  }
}

void GapScorer::set_fields(const Sample& sample,
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

std::string GapScorer::competition_line(const Sample& sample, std::span<const float> kept) const {
  return kaggle_line(gap_id_of(sample), probabilities_at(kept, 0));
}

void GapScorer::count(const Batch& block,
                      const at::Tensor& /*outputs*/,
                      std::span<const float> kept) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
    const auto label = static_cast<int>(block.arrays[kGapLabel].integers[row]);
    if (label < 0) continue;
    tally_.add({label, static_cast<Gender>(block.arrays[kGapGender].integers[row]),
                probabilities_at(kept, row)});
  }
}

EvaluationSummary GapScorer::summary() const {
  if (tally_.rows() == 0) {
    EvaluationSummary none;
    for (const char* key :
         {"loss", "accuracy", "log_loss", "f1", "f1_masculine", "f1_feminine", "bias"}) {
      none.scores.emplace_back(key, std::numeric_limits<double>::quiet_NaN());
    }
    return none;
  }
  constexpr double kPercent = 100;
  return {{{"loss", tally_.log_loss()},
           {"accuracy", tally_.accuracy()},
           {"log_loss", tally_.log_loss()},
           {"f1", tally_.overall().f1() / kPercent},
           {"f1_masculine", tally_.of(Gender::masculine).f1() / kPercent},
           {"f1_feminine", tally_.of(Gender::feminine).f1() / kPercent},
           {"bias", tally_.bias()}}};
}

std::vector<std::string> GapScorer::lines(const std::string& name,
                                          const std::string& predictions) const {
  if (tally_.rows() == 0) {
    return unscored(name + ": no answers", predictions);
  }
  return {concat(name, ": log loss ", fixed(tally_.log_loss(), 4), ", accuracy ",
                 fixed(tally_.accuracy(), 4), ", ", with_commas(tally_.rows()), " samples"),
          gap_scorecard(tally_)};
}

Sections GapScorer::sections() const {
  if (tally_.rows() == 0) return {};
  return {gap_section(tally_, name_of(split())), error_section(worst_rows())};
}

ErrorRows GapScorer::worst_rows() const {
  const std::vector<std::int64_t> labels = store().integers(split(), kGapLabel);
  const auto share_of = [&](std::size_t row) {
    return double{kept()[3 * row + static_cast<std::size_t>(labels[row])]};
  };
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] >= 0) rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, share_of);
  rows.resize(std::min(rows.size(), kMostErrorRows));
  ErrorRows errors{.split = name_of(split()), .order = "the highest loss"};
  for (const std::size_t row : rows) {
    const Sample sample = store().load(split(), static_cast<std::int64_t>(row));
    std::vector<std::string> fields;
    set_fields(sample, std::span(kept()).subspan(3 * row, 3), fields);
    errors.rows.push_back(
        {.text = store().text(sample.text_id, split()),
         .answer = fields[1],
         .prediction = fields[2],
         .facts = concat(fields[0], ", probability of the true answer ", brief(share_of(row)),
                         ", loss ", fixed(-std::log(share_of(row)), 2)),
         .text_id = sample.text_id,
         .sample_id = sample.sample_id});
  }
  return errors;
}

std::vector<ResultFile> GapScorer::files() const {
  std::string kaggle = competition_header();
  for (std::int64_t i = 0; i < store().size(split()); ++i) {
    const auto begin = 3 * static_cast<std::size_t>(i);
    kaggle += competition_line(store().load(split(), i), std::span(kept()).subspan(begin, 3));
  }
  return {{"kaggle.csv", kaggle}};
}

}  // namespace bp::trainer
