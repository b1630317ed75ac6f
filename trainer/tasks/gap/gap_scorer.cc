#include "trainer/tasks/gap/gap_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/gap/gap_section.h"
#include "trainer/tasks/unscored_line.h"

namespace bp::trainer {
namespace {

GapProbabilities probabilities_at(const std::vector<float>& kept, std::size_t row) {
  return {double{kept[3 * row]}, double{kept[3 * row + 1]}, double{kept[3 * row + 2]}};
}

}  // namespace

void GapScorer::add(const Batch& block, const at::Tensor& outputs) {
  const std::size_t before = kept().size() / 3;
  predictor_.keep(block, outputs, kept());
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
    const auto label = static_cast<int>(block.arrays[kGapLabel].integers[row]);
    if (label < 0) continue;
    tally_.add({label, static_cast<Gender>(block.arrays[kGapGender].integers[row]),
                probabilities_at(kept(), before + row)});
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
    return {unscored_line({name, "answers", store_.size(split_), predictions})};
  }
  return {concat(name, ": log loss ", fixed(tally_.log_loss(), 4), ", accuracy ",
                 fixed(tally_.accuracy(), 4), ", ", with_commas(tally_.rows()), " samples"),
          gap_scorecard(tally_)};
}

std::string GapScorer::sections() const {
  if (tally_.rows() == 0) return "";
  return concat(gap_section(tally_, name_of(split_)), error_section(worst_rows()));
}

ErrorRows GapScorer::worst_rows() const {
  const std::vector<std::int64_t> labels = store_.integers(split_, kGapLabel);
  const auto share_of = [&](std::size_t row) {
    return double{kept()[3 * row + static_cast<std::size_t>(labels[row])]};
  };
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] >= 0) rows.push_back(row);
  }
  std::ranges::stable_sort(rows, {}, share_of);
  rows.resize(std::min(rows.size(), kMostErrorRows));
  ErrorRows errors{.split = name_of(split_), .order = "the highest loss"};
  for (const std::size_t row : rows) {
    const Sample sample = store_.load(split_, static_cast<std::int64_t>(row));
    std::vector<std::string> fields;
    predictor_.set_fields(sample, std::span(kept()).subspan(3 * row, 3), fields);
    errors.rows.push_back(
        {.text = store_.text(sample.text_id, split_),
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
  std::string kaggle = predictor_.competition_header();
  for (std::int64_t i = 0; i < store_.size(split_); ++i) {
    const auto begin = 3 * static_cast<std::size_t>(i);
    kaggle +=
        predictor_.competition_line(store_.load(split_, i), std::span(kept()).subspan(begin, 3));
  }
  return {{"kaggle.csv", kaggle}};
}

}  // namespace bp::trainer
