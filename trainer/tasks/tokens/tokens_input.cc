#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/input/line_reader.h"
#include "trainer/input/open_input.h"
#include "trainer/input/row_reader.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/task_input.h"
#include "trainer/tasks/tokens/conll.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {
namespace {

// Returns whether the name of the file, without that of a compression, ends as one in CoNLL's
// columns does.
bool is_conll_name(const std::string& path) {
  constexpr std::array kEndings = {".conll", ".bio", ".iob", ".iob2", ".ner", ".txt"};
  const std::string name = unpacked_name(path);
  return std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

// The sentences of a file in CoNLL's columns as rows: the words, and their tags, as word_list.h
// joins them.
class ConllRows : public RowReader {
 public:
  ConllRows(const std::string& path, const std::string& encoding, const ConllColumns& columns)
      : path_(path),
        lines_(path, encoding, {.too_long_hint = "in CoNLL's format, each word has its own line"}),
        sentences_(path, columns) {}

  bool next() override {
    if (!next_sentence()) return false;
    ++number_;
    words_ = join_words(sentences_.sentence().words);
    tags_ = join_words(sentences_.sentence().tags);
    fields_[kWordsField] = words_;
    fields_[kTagsField] = tags_;
    return true;
  }
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  // "a.conll, sentence 2 (line 5)"
  [[nodiscard]] std::string place() const override {
    return concat(path_, ", sentence ", number_, " (line ", sentences_.sentence().line, ")");
  }

 private:
  [[nodiscard]] bool next_sentence() {
    while (lines_.next()) {
      if (sentences_.add(lines_.line())) return true;
    }
    return sentences_.finish();
  }

  std::string path_;
  LineReader lines_;
  ConllReader sentences_;
  std::int64_t number_ = 0;
  std::string words_;
  std::string tags_;
  std::array<std::string_view, 2> fields_;
};

class TokenMaker : public SampleMaker {
 public:
  TokenMaker(const PrepareOptions& prepare,
             const std::vector<std::string>& names,
             Tokenizer tokenizer)
      : max_length_(static_cast<std::size_t>(prepare.max_length)),
        truncates_(prepare.long_text == LongText::truncate),
        tokenizer_(std::move(tokenizer)) {
    std::int64_t number = 0;
    for (const std::string& name : names) numbers_.emplace(name, number++);
  }

  // A sentence to predict need not have tags, and those that it has need not be known.
  void make(Fields fields, const SampleSink& sink) override {
    const std::vector<std::string> words = split_words(fields[kWordsField]);
    std::vector<std::int64_t> tags;
    for (const std::string& tag : split_words(fields[kTagsField])) {
      const auto found = numbers_.find(tag);
      tags.push_back(found == numbers_.end() ? kIgnoredTarget : found->second);
    }
    if (tags.size() != words.size()) tags.clear();
    for (const SentenceWindow& window :
         make_sentence_windows(words, tags, max_length_, tokenizer_)) {
      const std::vector<std::int32_t> targets(window.targets.begin(), window.targets.end());
      const std::vector<std::int32_t> places(window.positions.begin(), window.positions.end());
      const ArrayView arrays[] = {std::span<const std::int32_t>(targets),
                                  std::span<const std::int32_t>(places)};
      sink(window.ids, arrays);
      if (truncates_) return;
    }
  }

 private:
  std::size_t max_length_;
  bool truncates_;
  Tokenizer tokenizer_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

class TokensInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    constexpr double kMostColumns = 1000;
    set.text({"words", "Column or JSON key of a sentence's words, with blanks between them", "",
              "COLUMN"},
             options_.words_column);
    set.text(
        {"tags", "Column or JSON key of the words' tags, with blanks between them", "", "COLUMN"},
        options_.tags_column);
    set.number({"word-column", "Column of the word in .conll, .bio, .iob, .iob2, .ner and .txt"},
               options_.conll.word, 1, kMostColumns);
    set.number({"tag-column", "Column of the tag there; 0: the last one"}, options_.conll.tag, 0,
               kMostColumns);
  }
  std::vector<std::string> score_by(const EncoderSpec& config) override {
    options_.known_tags = label_config_of(config).labels;
    return options_.known_tags;
  }

  [[nodiscard]] std::string name() const override { return "tokens"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    return {{.name = "words", .column = options_.words_column, .arrays = {" "}},
            {.name = "tags", .column = options_.tags_column, .answer = true, .arrays = {" "}}};
  }
  [[nodiscard]] SampleSchema schema() const override { return token_schema(); }
  [[nodiscard]] bool has_own_format(const std::string& path) const override {
    return is_conll_name(path);
  }
  [[nodiscard]] std::unique_ptr<RowReader> open(const std::string& path,
                                                const PrepareOptions& prepare) const override {
    return std::make_unique<ConllRows>(path, prepare.encoding, options_.conll);
  }

  [[nodiscard]] Fingerprint fingerprint() const override {
    Fingerprint print = {{"column of words", concat(options_.conll.word)},
                         {"column of tags", concat(options_.conll.tag)}};
    for (std::size_t i = 0; i < options_.known_tags.size(); ++i) {
      print.emplace_back(concat("tag ", i, " of the model"), options_.known_tags[i]);
    }
    return print;
  }

  [[nodiscard]] Obstacle nothing_to_learn(const std::vector<std::string>& names) const override {
    return no_tags_to_learn(names);
  }
  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override {
    return make_tag_finder(plan, options_, found);
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& names,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<TokenMaker>(prepare, names, std::move(tokenizer));
  }

  [[nodiscard]] std::string describe(const std::vector<std::string>& names) const override {
    return "tags " + shown_labels(names);
  }

 private:
  TokenOptions options_;
};

}  // namespace

std::shared_ptr<TaskInput> make_tokens_input() { return std::make_shared<TokensInput>(); }

}  // namespace bp::trainer
