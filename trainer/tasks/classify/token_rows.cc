#include "trainer/tasks/classify/token_rows.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/input/row_reader.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/classify/token_samples.h"
#include "trainer/text/token_texts.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

constexpr const char* kVocabularyHint =
    "--vocab takes the vocab.txt that the samples were made with, such as bert-base-uncased's";

class TokenRows : public RowReader {
 public:
  TokenRows(const std::string& path, const PrepareOptions& options)
      : samples_(path),
        vocabulary_(needed_vocabulary(path, options)),
        texts_(token_texts(vocabulary_)),
        form_(form_of(vocabulary_)),
        vocabulary_path_(options.vocabulary),
        max_length_(static_cast<std::size_t>(options.max_length)) {}

  bool next() override {
    if (!samples_.next()) return false;
    ++number_;
    ids_ = samples_.ids();
    while (!ids_.empty() && ids_.back() == form_.pad) ids_ = ids_.first(ids_.size() - 1);
    require_sample();
    write_text();
    code_ = concat(samples_.code());
    fields_[0] = text_;
    fields_[kTokenIdsField] = field_of(ids_);
    fields_[kLabelCodeField] = code_;
    fields_[3] = samples_.label();
    return true;
  }
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  [[nodiscard]] std::string place() const override { return samples_.place(); }

 private:
  void require_sample() const {
    for (const std::int32_t id : ids_) {
      if (std::cmp_less(id, vocabulary_.tokens.size())) continue;
      throw InputError(65,
                       concat(place(), ": has the token id ", id, ", but ", vocabulary_path_,
                              " has ", vocabulary_.tokens.size(), " tokens"),
                       kVocabularyHint);
    }
    if (ids_.size() < 2 || ids_.front() != form_.cls || ids_.back() != form_.sep) {
      throw InputError(
          65,
          concat(place(), ": is not ", token(form_.cls), ", tokens and ", token(form_.sep),
                 ", which have the ids ", form_.cls, " and ", form_.sep, " in ", vocabulary_path_),
          kVocabularyHint);
    }
    if (ids_.size() > max_length_) {
      throw InputError(
          65,
          concat(place(), ": has ", ids_.size(), " tokens, more than --max-length ", max_length_),
          concat("give --max-length ", ids_.size(), " or more"));
    }
  }
  [[nodiscard]] const std::string& token(std::int32_t id) const {
    return vocabulary_.tokens.at(static_cast<std::size_t>(id));
  }
  // A sample may begin within a word or a character, where a longer text was divided.
  void write_text() {
    text_.clear();
    for (const std::int32_t id : ids_.subspan(1, ids_.size() - 2)) {
      const TokenText& token = texts_[static_cast<std::size_t>(id)];
      if (token.begins_word && !text_.empty()) text_ += ' ';
      text_ += token.text;
    }
    if (find_invalid_utf8(text_) != std::string_view::npos) text_ = valid_utf8(text_);
  }

  TokenSamples samples_;
  Vocabulary vocabulary_;
  std::vector<TokenText> texts_;  // of the tokens
  SampleForm form_;
  std::string vocabulary_path_;
  std::size_t max_length_;
  std::span<const std::int32_t> ids_;  // of the sample, without padding
  std::int64_t number_ = 0;
  std::string text_;
  std::string code_;
  std::string_view fields_[4];
};

}  // namespace

std::unique_ptr<RowReader> open_token_rows(const std::string& path, const PrepareOptions& options) {
  return std::make_unique<TokenRows>(path, options);
}

}  // namespace bp::trainer
