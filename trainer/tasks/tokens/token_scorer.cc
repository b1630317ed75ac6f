#include "trainer/tasks/tokens/token_scorer.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <limits>
#include <utility>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/softmax.h"
#include "trainer/tasks/tokens/entity_report.h"
#include "trainer/tasks/tokens/entity_tables.h"
#include "trainer/tasks/tokens/token_options.h"
#include "trainer/tasks/unscored_line.h"

namespace bp::trainer {
namespace {

// The words of one sentence, which may be in several samples.
struct Words {
  std::int64_t text_id = 0;
  std::vector<int> labels = {};  // empty if they are unknown
  std::vector<int> predictions = {};
};

void add_sentence(Words& words, EntityTally& tally) {
  if (!words.labels.empty()) tally.add(words.labels, words.predictions);
  words.labels.clear();
  words.predictions.clear();
}

}  // namespace

TokenScorer::TokenScorer(const SampleStore& store, Split split, TokenPredictor predictor)
    : store_(store),
      split_(split),
      predictor_(std::move(predictor)),
      tags_(predictor_.tags()),
      losses_(ExactSum::kSize + 1) {}

void TokenScorer::add(const Batch& block, const at::Tensor& outputs) {
  predictor_.keep(block, outputs, kept());
  const std::size_t tags = predictor_.tags().size();
  const auto* logits = outputs.const_data_ptr<float>();
  const auto length = static_cast<std::size_t>(block.length);
  ExactSum sum{std::span(losses_).first<ExactSum::kSize>()};
  for (std::size_t row = 0; row < block.lengths.size(); ++row) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(block.lengths[row]); ++i) {
      const int tag = predictor_.tag_of(block.arrays[kTargetsArray].integers[row * length + i]);
      if (tag >= 0) {
        sum.add(cross_entropy(std::span(logits, tags), static_cast<std::size_t>(tag)));
        ++losses_.back();
      }
      logits += tags;
    }
  }
}

EntityTally TokenScorer::tally() const {
  EntityTally tally(tags_);
  std::span<const float> rest = kept();
  Words words;
  for (std::int64_t i = 0; i < store_.size(split_); ++i) {
    const Sample sample = store_.load(split_, i);
    if (sample.text_id != words.text_id) add_sentence(words, tally);
    words.text_id = sample.text_id;
    const std::vector<std::int64_t>& targets = sample.arrays[kTargetsArray].integers;
    for (const std::int64_t place : sample.arrays[kWordsArray].integers) {
      const int label = predictor_.tag_of(targets[static_cast<std::size_t>(place)]);
      if (label >= 0) words.labels.push_back(label);
      words.predictions.push_back(static_cast<int>(rest.front()));
      rest = rest.subspan(1);
    }
  }
  add_sentence(words, tally);
  return tally;
}

double TokenScorer::loss() const {
  return ExactSum::value_of(std::span(losses_).first<ExactSum::kSize>()) /
         static_cast<double>(losses_.back());
}

EvaluationSummary TokenScorer::summary() const {
  const EntityTally counted = tally();
  if (counted.words() == 0) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {{{"loss", kNone},
             {"f1", kNone},
             {"precision", kNone},
             {"recall", kNone},
             {"f1_macro", kNone},
             {"f1_weighted", kNone},
             {"accuracy", kNone}}};
  }
  const EntityScores scores = entity_scores(counted);
  return {{{"loss", loss()},
           {"f1", scores.micro.f1},
           {"precision", scores.micro.precision},
           {"recall", scores.micro.recall},
           {"f1_macro", scores.macro.f1},
           {"f1_weighted", scores.weighted.f1},
           {"accuracy", scores.accuracy}}};
}

std::vector<std::string> TokenScorer::lines(const std::string& name,
                                            const std::string& predictions) const {
  const EntityTally counted = tally();
  if (counted.words() == 0) {
    return {unscored_line({name, "tags", store_.size(split_), predictions})};
  }
  constexpr int kDigits = 4;
  const EntityScores scores = entity_scores(counted);
  return {concat(name, ": F1 ", fixed(scores.micro.f1, kDigits), ", precision ",
                 fixed(scores.micro.precision, kDigits), ", recall ",
                 fixed(scores.micro.recall, kDigits), " of entities, accuracy ",
                 fixed(scores.accuracy, kDigits), " of words, loss ", fixed(loss(), kDigits), ", ",
                 with_commas(counted.words()), " words"),
          entity_report(scores, kDigits)};
}

std::string TokenScorer::sections() const {
  const EntityTally counted = tally();
  return counted.words() == 0 ? "" : entity_section(entity_scores(counted), name_of(split_));
}

std::vector<ResultFile> TokenScorer::files() const {
  const EntityTally counted = tally();
  if (counted.words() == 0) return {};
  return {{"entities.csv", entities_csv(entity_scores(counted))}};
}

}  // namespace bp::trainer
