#include "trainer/tasks/gap/gap_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/error_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/gap/gap_scores.h"
#include "trainer/tasks/scorer.h"
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

Section gap_section(const GapTally& tally, const std::string& split) {
  Section section{.title = concat("Decisions, ", split, " split"),
                  .note = "Each sample asks twice: is it A, is it B? Scores in percent.",
                  .table = table_of({"pronouns", "precision", "recall", "F1", "right yes",
                                     "wrong yes", "wrong no", "right no"})};
  const auto add = [&](const char* name, const GapDecisions& of) {
    section.table.add({name, fixed(of.precision(), 1), fixed(of.recall(), 1), fixed(of.f1(), 1),
                       with_commas(of.true_positives), with_commas(of.false_positives),
                       with_commas(of.false_negatives), with_commas(of.true_negatives)});
  };
  add("all", tally.overall());
  add("masculine", tally.of(Gender::masculine));
  add("feminine", tally.of(Gender::feminine));
  return section;
}

class GapScorer : public Scorer {
 public:
  using Scorer::Scorer;

  // The row's ID, its answer and the model's, and the probabilities p_A, p_B and p_NEITHER.
  [[nodiscard]] std::vector<PredictionColumn> columns() const override {
    return {{"id"}, {"label"}, {"prediction"}, {"p_A", true}, {"p_B", true}, {"p_NEITHER", true}};
  }
  // outputs: logits, [rows, 3]. Keeps the probabilities, in the order of the outputs.
  void keep(const Batch& block,
            const at::Tensor& outputs,
            std::vector<float>& kept) const override {
    const auto* logits = outputs.const_data_ptr<float>();
    for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
      append_probabilities(std::span(logits + row * kOutputs, kOutputs), kept);
    }
  }
  [[nodiscard]] std::size_t kept_of(const Sample& /*sample*/) const override { return 3; }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override {
    const std::int64_t label = sample.arrays[kGapLabel].integers.front();
    const auto answer = static_cast<std::size_t>(std::ranges::max_element(kept) - kept.begin());
    fields = {gap_id_of(sample),
              label < 0 ? "" : gap_answers()[static_cast<std::size_t>(label)],
              gap_answers()[answer],
              probability_text(double{kept[1]}),
              probability_text(double{kept[2]}),
              probability_text(double{kept[0]})};
  }
  // Kaggle's.
  [[nodiscard]] std::string competition_line(const Sample& sample,
                                             std::span<const float> kept) const override {
    return kaggle_line(gap_id_of(sample), probabilities_at(kept, 0));
  }
  [[nodiscard]] std::string competition_header() const override { return kaggle_header(); }

  [[nodiscard]] std::span<std::int64_t> counts() override { return tally_.values(); }
  [[nodiscard]] EvaluationSummary summary() const override {
    constexpr double kPercent = 100;
    const auto known = [&](double score) {
      return tally_.rows() == 0 ? std::numeric_limits<double>::quiet_NaN() : score;
    };
    return {{{"loss", known(tally_.log_loss())},
             {"accuracy", known(tally_.accuracy())},
             {"log_loss", known(tally_.log_loss())},
             {"f1", known(tally_.overall().f1() / kPercent)},
             {"f1_masculine", known(tally_.of(Gender::masculine).f1() / kPercent)},
             {"f1_feminine", known(tally_.of(Gender::feminine).f1() / kPercent)},
             {"bias", known(tally_.bias())}}};
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override {
    if (tally_.rows() == 0) {
      return unscored(name + ": no answers", predictions);
    }
    return {concat(name, ": log loss ", fixed(tally_.log_loss(), 4), ", accuracy ",
                   fixed(tally_.accuracy(), 4), ", ", with_commas(tally_.rows()), " samples"),
            gap_scorecard(tally_)};
  }
  [[nodiscard]] Sections sections() const override {
    if (tally_.rows() == 0) return {};
    return {gap_section(tally_, name_of(split())), error_section(worst_rows())};
  }
  // Kaggle's file also without true answers, which the competition does not give.
  [[nodiscard]] std::vector<ResultFile> files() const override {
    std::string kaggle = competition_header();
    for (std::int64_t i = 0; i < store().size(split()); ++i) {
      const auto begin = 3 * static_cast<std::size_t>(i);
      kaggle += competition_line(store().load(split(), i), std::span(kept()).subspan(begin, 3));
    }
    return {{"kaggle.csv", kaggle}};
  }

 private:
  void count(const Batch& block,
             const at::Tensor& /*outputs*/,
             std::span<const float> kept) override {
    for (std::size_t row = 0; row < static_cast<std::size_t>(block.rows); ++row) {
      const auto label = static_cast<int>(block.arrays[kGapLabel].integers[row]);
      if (label < 0) continue;
      tally_.add({label, static_cast<Gender>(block.arrays[kGapGender].integers[row]),
                  probabilities_at(kept, row)});
    }
  }
  // The samples with the highest loss.
  [[nodiscard]] ErrorRows worst_rows() const {
    const std::vector<std::int64_t> labels = store().integers(split(), kGapLabel);
    const auto share_of = [&](std::size_t row) {
      return double{kept()[3 * row + static_cast<std::size_t>(labels[row])]};
    };
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < labels.size(); ++row) {
      if (labels[row] >= 0) rows.push_back(row);
    }
    ErrorRows errors{.split = name_of(split()), .order = "the highest loss"};
    for (const std::size_t row : worst_of(rows, [&](auto r) { return -share_of(r); })) {
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

  GapTally tally_;
};

}  // namespace

std::unique_ptr<Scorer> make_gap_scorer(const StoredSplit& scored) {
  return std::make_unique<GapScorer>(scored);
}

}  // namespace bp::trainer
