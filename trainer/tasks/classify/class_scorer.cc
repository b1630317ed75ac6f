#include "trainer/tasks/classify/class_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "trainer/tasks/classify/analysis.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/confusions.h"
#include "trainer/tasks/classify/tally.h"
#include "trainer/tasks/softmax.h"

namespace bp::trainer {
namespace {

// Returns -log of the probability of the answer: log(1 + e^-x) for yes and log(1 + e^x) for no.
double answer_loss(double logit, bool answer) {
  const double x = answer ? -logit : logit;
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// Returns the mean over the labels.
double mean_answer_loss(std::span<const float> logits, std::span<const int> answers) {
  double loss = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    const bool yes = std::ranges::binary_search(answers, static_cast<int>(k));
    loss += answer_loss(double{logits[k]}, yes);
  }
  return loss / static_cast<double>(logits.size());
}

}  // namespace

ClassScorer::ClassScorer(const Options& options, const StoredSplit& scored)
    : Scorer(scored),
      form_{.labels = options.labels, .several = options.several, .separator = options.separator},
      label_map_(options.label_map),
      threshold_(options.threshold),
      top_(std::min(static_cast<std::size_t>(options.top), options.labels.size())),
      per_(options.per) {}

std::vector<int> ClassScorer::answers_of(std::span<const std::int64_t> stored) const {
  std::vector<int> answers;
  for (const std::int64_t label : stored) {
    if (label >= 0) answers.push_back(label_map_[static_cast<std::size_t>(label)]);
  }
  std::ranges::sort(answers);
  return answers;
}

std::vector<int> ClassScorer::predictions_of(std::span<const float> shares) const {
  if (!form_.several) {
    return {static_cast<int>(std::ranges::max_element(shares) - shares.begin())};
  }
  std::vector<int> predictions;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    if (shares[k] >= threshold_) predictions.push_back(static_cast<int>(k));
  }
  return predictions;
}

std::vector<PredictionColumn> ClassScorer::columns() const {
  std::vector<PredictionColumn> columns = {{"label"}, {"prediction"}};
  for (std::size_t place = 1; place <= top_; ++place) {
    columns.push_back({concat("top_", place)});
    columns.push_back({concat("top_", place, "_p"), true});
  }
  if (top_ > 0) return columns;
  for (const std::string& label : form_.labels) columns.push_back({"p_" + label, true});
  return columns;
}

void ClassScorer::keep(const Batch& block,
                       const at::Tensor& outputs,
                       std::vector<float>& kept) const {
  const auto* logits = outputs.const_data_ptr<float>();
  kept.insert(kept.end(), logits,
              logits + static_cast<std::size_t>(block.rows) * form_.labels.size());
}

void ClassScorer::append_shares(std::span<const float> logits, std::vector<float>& to) const {
  if (!form_.several) return append_probabilities(logits, to);
  for (const float logit : logits) {
    to.push_back(static_cast<float>(1 / (1 + std::exp(-double{logit}))));
  }
}

void ClassScorer::set_fields(const Sample& sample,
                             std::span<const float> kept,
                             std::vector<std::string>& fields) const {
  std::vector<float> shares;
  append_shares(kept, shares);
  fields = {form_.names(answers_of(sample.arrays[kLabelArray].integers)),
            form_.names(predictions_of(shares))};
  if (top_ > 0) return add_top_fields(shares, fields);
  for (const float share : shares) fields.push_back(probability_text(double{share}));
}

// Of equally probable labels the first one counts as more probable, as in a prediction.
void ClassScorer::add_top_fields(std::span<const float> shares,
                                 std::vector<std::string>& fields) const {
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(top_);
  std::ranges::partial_sort(order, end, [&](std::size_t a, std::size_t b) {
    return shares[a] != shares[b] ? shares[a] > shares[b] : a < b;
  });
  order.resize(top_);
  for (const std::size_t label : order) {
    fields.push_back(form_.labels[label]);
    fields.push_back(probability_text(double{shares[label]}));
  }
}

RowScorer ClassScorer::scored() const {
  const std::vector<std::size_t> starts = starts_of_rows(split());
  const std::vector<float> kept = kept_of_rows(this->kept(), starts);
  const std::vector<std::int32_t> lengths = store().lengths(split());
  std::vector<std::int64_t> labels;  // of samples, with one label each
  if (!form_.several) labels = store().integers(split(), kLabelArray);
  LabelledRows rows = form_;
  if (starts.size() - 1 < lengths.size()) rows.rows_are = "texts";
  LossSum losses(form_.several);
  const std::size_t width = form_.labels.size();
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    const std::size_t first = starts[row];
    const std::span<const float> logits = std::span(kept).subspan(row * width, width);
    append_shares(logits, rows.shares);
    if (form_.several) {
      rows.answers.add(answers_of(
          store().load(split(), static_cast<std::int64_t>(first)).arrays[kLabelArray].integers));
      losses.add(mean_answer_loss(logits, rows.answers.of(row)));
    } else {
      rows.answers.add(answers_of(std::span(labels).subspan(first, 1)));
      const std::span<const int> answer = rows.answers.of(row);
      if (!answer.empty()) {
        losses.add(cross_entropy(logits, static_cast<std::size_t>(answer.front())));
      }
    }
    rows.predictions.add(predictions_of(rows.shares_of(row)));
    rows.lengths.push_back(
        std::accumulate(lengths.begin() + static_cast<std::ptrdiff_t>(first),
                        lengths.begin() + static_cast<std::ptrdiff_t>(starts[row + 1]), 0));
  }
  return {std::move(rows), losses};
}

std::vector<std::string> ClassScorer::lines(const std::string& name,
                                            const std::string& predictions) const {
  const RowScorer all = scored();
  return all.known() ? all.lines(name) : unscored(name + ": no labels", predictions);
}

ErrorRows ClassScorer::errors(const RowScorer& scored) const {
  const std::vector<std::size_t> starts = starts_of_rows(split());
  return scored.errors(name_of(split()), 0, [&](std::size_t row) {
    const Sample sample = store().load(split(), static_cast<std::int64_t>(starts[row]));
    return ErrorRow{.text = store().text(sample.text_id, split()),
                    .text_id = sample.text_id,
                    .sample_id = sample.sample_id};
  });
}

Sections ClassScorer::sections() const {
  const RowScorer all = scored();
  if (!all.known()) return {};
  Sections sections = all.sections(name_of(split()), errors(all));
  if (!form_.several) sections.push_back(label_counts());
  return sections;
}

Section ClassScorer::label_counts() const {
  std::vector<LabelCounts> splits;
  for (const Split counted : {Split::train, Split::dev, Split::test}) {
    LabelCounts counts{.split = name_of(counted), .counts = {}};
    counts.counts.resize(form_.labels.size());
    const std::vector<std::int64_t> of_samples = store().integers(counted, kLabelArray);
    const std::vector<std::size_t> starts = starts_of_rows(counted);
    std::vector<std::int64_t> stored;
    for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
      stored.push_back(of_samples[starts[row]]);
    }
    for (const int label : answers_of(stored)) ++counts.counts[static_cast<std::size_t>(label)];
    if (!stored.empty()) splits.push_back(std::move(counts));
  }
  return label_counts_section(form_.labels, splits);
}

std::vector<PrCurve> ClassScorer::pr_curves() const {
  const RowScorer all = scored();
  return all.known() ? all.pr_curves() : std::vector<PrCurve>();
}

// The terminal and the report show these only for few labels.
std::vector<ResultFile> ClassScorer::files() const {
  const RowScorer all = scored();
  if (!all.known()) return {};
  const bool many = form_.labels.size() > kMostInMatrix;
  std::vector<ResultFile> files = {{"classes.csv", all.classes_file(), many}};
  if (!form_.several) files.push_back({"confusion.csv", all.confusion_file(), many});
  return files;
}

}  // namespace bp::trainer
