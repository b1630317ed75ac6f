#include "trainer/tasks/tokens/token_scorer.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/error_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/exact_sum.h"
#include "trainer/tasks/scorer.h"
#include "trainer/tasks/softmax.h"
#include "trainer/tasks/tokens/conll.h"
#include "trainer/tasks/tokens/entities.h"
#include "trainer/tasks/tokens/entity_report.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {
namespace {

// Returns no words if the text does not have one for each tag, because a word has a blank.
std::vector<std::string> words_of(const std::string& text, std::size_t tags) {
  std::istringstream source(text);
  std::vector<std::string> words;
  for (std::string word; source >> word;) words.push_back(word);
  if (words.size() != tags) words.assign(tags, "");
  return words;
}

class TokenScorer : public Scorer {
 public:
  // `tags`: the model's; `tag_map`: the model's number of each of the samples' tags.
  TokenScorer(std::vector<std::string> tags, std::vector<int> tag_map, const StoredSplit& scored)
      : Scorer(scored),
        tags_(std::move(tags)),
        tag_map_(std::move(tag_map)),
        entity_tags_(tags_),
        losses_(ExactSum::kSize + 1) {}

  // The tags of the sample's words, with blanks between them. "tags" is empty if they are unknown.
  [[nodiscard]] std::vector<PredictionColumn> columns() const override {
    return {{"tags"}, {"predictions"}};
  }
  // outputs: logits, [tokens, tags]. Keeps the most probable tag of each word.
  void keep(const Batch& block,
            const at::Tensor& outputs,
            std::vector<float>& kept) const override {
    const auto* logits = outputs.const_data_ptr<float>();
    const BatchArray& words = block.arrays[kWordsArray];
    std::size_t first_token = 0;
    for (std::size_t row = 0; row < block.lengths.size(); ++row) {
      const auto own = std::span(words.integers)
                           .subspan(row * static_cast<std::size_t>(words.width),
                                    static_cast<std::size_t>(words.sizes[row]));
      for (const std::int64_t place : own) {
        const std::size_t token = first_token + static_cast<std::size_t>(place);
        const std::span scores(logits + token * tags_.size(), tags_.size());
        kept.push_back(static_cast<float>(std::ranges::max_element(scores) - scores.begin()));
      }
      first_token += static_cast<std::size_t>(block.lengths[row]);
    }
  }
  [[nodiscard]] std::size_t kept_of(const Sample& sample) const override {
    return sample.arrays[kWordsArray].integers.size();
  }
  void set_fields(const Sample& sample,
                  std::span<const float> kept,
                  std::vector<std::string>& fields) const override {
    std::vector<std::string> labels;
    std::vector<std::string> predictions;
    for (const std::int64_t place : sample.arrays[kWordsArray].integers) {
      const int tag =
          tag_of(sample.arrays[kTargetsArray].integers[static_cast<std::size_t>(place)]);
      if (tag >= 0) labels.push_back(tags_[static_cast<std::size_t>(tag)]);
    }
    for (const float tag : kept) predictions.push_back(tags_[static_cast<std::size_t>(tag)]);
    fields = {join_words(labels), join_words(predictions)};
  }

  [[nodiscard]] std::span<std::int64_t> counts() override { return losses_; }
  [[nodiscard]] EvaluationSummary summary() const override {
    const EntityTally counted = tally();
    const EntityScores scores = entity_scores(counted);
    const auto known = [&](double score) {
      return counted.words() == 0 ? std::numeric_limits<double>::quiet_NaN() : score;
    };
    return {{{"loss", known(loss())},
             {"f1", known(scores.micro.f1)},
             {"precision", known(scores.micro.precision)},
             {"recall", known(scores.micro.recall)},
             {"f1_macro", known(scores.macro.f1)},
             {"f1_weighted", known(scores.weighted.f1)},
             {"accuracy", known(scores.accuracy)}}};
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& name,
                                               const std::string& predictions) const override {
    const EntityTally counted = tally();
    if (counted.words() == 0) {
      return unscored(name + ": no tags", predictions);
    }
    constexpr int kDigits = 4;
    const EntityScores scores = entity_scores(counted);
    return {concat(name, ": F1 ", fixed(scores.micro.f1, kDigits), ", precision ",
                   fixed(scores.micro.precision, kDigits), ", recall ",
                   fixed(scores.micro.recall, kDigits), " of entities, accuracy ",
                   fixed(scores.accuracy, kDigits), " of words, loss ", fixed(loss(), kDigits),
                   ", ", with_commas(counted.words()), " words"),
            entity_report(scores, kDigits)};
  }
  [[nodiscard]] Sections sections() const override {
    const EntityTally counted = tally();
    if (counted.words() == 0) return {};
    return {entity_section(entity_scores(counted), name_of(split())),
            error_section(worst_sentences())};
  }
  [[nodiscard]] std::vector<ResultFile> files() const override {
    const EntityTally counted = tally();
    if (counted.words() == 0) return {};
    return {{"entities.csv", entities_csv(entity_scores(counted))}};
  }

 private:
  void count(const Batch& block,
             const at::Tensor& outputs,
             std::span<const float> /*kept*/) override {
    const std::size_t tags = tags_.size();
    const auto* logits = outputs.const_data_ptr<float>();
    const auto length = static_cast<std::size_t>(block.length);
    ExactSum sum{std::span(losses_).first<ExactSum::kSize>()};
    for (std::size_t row = 0; row < block.lengths.size(); ++row) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(block.lengths[row]); ++i) {
        const int tag = tag_of(block.arrays[kTargetsArray].integers[row * length + i]);
        if (tag >= 0) {
          sum.add(cross_entropy(std::span(logits, tags), static_cast<std::size_t>(tag)));
          ++losses_.back();
        }
        logits += tags;
      }
    }
  }
  // Returns the model's number of a target; -1: the token has none.
  [[nodiscard]] int tag_of(std::int64_t target) const {
    return target < 0 ? -1 : tag_map_[static_cast<std::size_t>(target)];
  }

  // The words of one sentence, which may be in several samples.
  struct Sentence {
    std::int64_t text_id = 0;
    std::int64_t sample_id = 0;    // its first sample
    std::vector<int> labels = {};  // empty if they are unknown
    std::vector<int> predictions = {};

    [[nodiscard]] std::vector<std::size_t> wrong() const {  // places of words
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] != predictions[i]) places.push_back(i);
      }
      return places;
    }
  };
  // Calls `body` for each sentence whose tags are known, with the words of all ranks, because one
  // rank may have only a part of a sentence.
  void for_each(const std::function<void(const Sentence&)>& body) const {
    std::span<const float> rest = kept();
    Sentence sentence;
    const auto end = [&] {
      if (!sentence.labels.empty()) body(sentence);
    };
    for (std::int64_t i = 0; i < store().size(split()); ++i) {
      const Sample sample = store().load(split(), i);
      if (sample.text_id != sentence.text_id) {
        end();
        sentence = {sample.text_id, sample.sample_id};
      }
      const std::vector<std::int64_t>& targets = sample.arrays[kTargetsArray].integers;
      for (const std::int64_t place : sample.arrays[kWordsArray].integers) {
        const int label = tag_of(targets[static_cast<std::size_t>(place)]);
        if (label >= 0) sentence.labels.push_back(label);
        sentence.predictions.push_back(static_cast<int>(rest.front()));
        rest = rest.subspan(1);
      }
    }
    end();
  }
  [[nodiscard]] EntityTally tally() const {
    EntityTally tally(entity_tags_);
    for_each([&](const Sentence& sentence) { tally.add(sentence.labels, sentence.predictions); });
    return tally;
  }
  // The sentences with the most wrong words.
  [[nodiscard]] ErrorRows worst_sentences() const {
    using WrongWords = std::pair<std::size_t, Sentence>;  // with their number
    std::vector<WrongWords> all;
    for_each([&](const Sentence& sentence) {
      if (sentence.labels.size() != sentence.predictions.size()) return;
      const std::size_t wrong = sentence.wrong().size();
      if (wrong > 0) all.emplace_back(wrong, sentence);
    });
    ErrorRows errors{.split = name_of(split()), .order = "the most wrong words"};
    for (const auto& [wrong, sentence] : worst_of(std::move(all), &WrongWords::first)) {
      errors.rows.push_back(row_of(sentence));
    }
    return errors;
  }
  // Answer and prediction are those of the wrong words: "new B-LOC, york I-LOC".
  [[nodiscard]] ErrorRow row_of(const Sentence& sentence) const {
    ErrorRow row{.text = store().text(sentence.text_id, split()),
                 .text_id = sentence.text_id,
                 .sample_id = sentence.sample_id};
    const std::vector<std::string> words = words_of(row.text, sentence.labels.size());
    const std::vector<std::size_t> wrong = sentence.wrong();
    const auto add = [&](std::string& list, std::size_t word, int tag) {
      list += concat(list.empty() ? "" : ", ", words[word], words[word].empty() ? "" : " ",
                     tags_[static_cast<std::size_t>(tag)]);
    };
    for (const std::size_t word : wrong) {
      add(row.answer, word, sentence.labels[word]);
      add(row.prediction, word, sentence.predictions[word]);
    }
    row.facts =
        concat(wrong.size(), " of ", counted(std::ssize(sentence.labels), "word"), " wrong");
    return row;
  }
  [[nodiscard]] double loss() const {
    return ExactSum::value_of(std::span(losses_).first<ExactSum::kSize>()) /
           static_cast<double>(losses_.back());
  }

  std::vector<std::string> tags_;
  std::vector<int> tag_map_;
  EntityTags entity_tags_;
  std::vector<std::int64_t> losses_;  // the digits of an ExactSum, and the number of terms
};

}  // namespace

std::unique_ptr<Scorer> make_token_scorer(std::vector<std::string> tags,
                                          std::vector<int> tag_map,
                                          const StoredSplit& scored) {
  return std::make_unique<TokenScorer>(std::move(tags), std::move(tag_map), scored);
}

}  // namespace bp::trainer
