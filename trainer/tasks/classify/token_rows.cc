#include "trainer/tasks/classify/token_rows.h"

#include <algorithm>
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
#include "trainer/input/row_reader.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/classify/token_samples.h"

namespace bp::trainer {
namespace {

constexpr const char* kVocabularyHint =
    "--vocab takes the vocab.txt that the samples were made with, such as bert-base-uncased's";

std::int32_t id_of(const std::vector<std::string>& vocabulary, std::string_view token) {
  return static_cast<std::int32_t>(std::ranges::find(vocabulary, token) - vocabulary.begin());
}

class TokenRows : public RowReader {
 public:
  TokenRows(const std::string& path, const PrepareOptions& options)
      : samples_(path),
        vocabulary_(needed_vocabulary(path, options).tokens),
        vocabulary_path_(options.vocabulary),
        max_length_(static_cast<std::size_t>(options.max_length)),
        cls_id_(id_of(vocabulary_, "[CLS]")),
        sep_id_(id_of(vocabulary_, "[SEP]")) {}

  bool next() override {
    if (!samples_.next()) return false;
    ++number_;
    require_sample();
    write_text();
    code_ = concat(samples_.code());
    fields_[0] = text_;
    fields_[kTokenIdsField] = field_of(samples_.ids());
    fields_[kLabelCodeField] = code_;
    fields_[3] = samples_.label();
    return true;
  }
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  [[nodiscard]] std::string place() const override { return samples_.place(); }

 private:
  void require_sample() const {
    const std::span<const std::int32_t> ids = samples_.ids();
    for (const std::int32_t id : ids) {
      if (std::cmp_less(id, vocabulary_.size())) continue;
      throw InputError(65,
                       concat(place(), ": has the token id ", id, ", but ", vocabulary_path_,
                              " has ", vocabulary_.size(), " tokens"),
                       kVocabularyHint);
    }
    if (ids.size() < 2 || ids.front() != cls_id_ || ids.back() != sep_id_) {
      throw InputError(65,
                       concat(place(), ": is not [CLS], tokens and [SEP], which have the ids ",
                              cls_id_, " and ", sep_id_, " in ", vocabulary_path_),
                       kVocabularyHint);
    }
    if (ids.size() > max_length_) {
      throw InputError(
          65,
          concat(place(), ": has ", ids.size(), " tokens, more than --max-length ", max_length_),
          concat("give --max-length ", ids.size(), " or more"));
    }
  }
  // The pieces of a word after its first one begin with ##. So may a sample, where a longer text
  // was divided within a word.
  void write_text() {
    text_.clear();
    const std::span<const std::int32_t> ids = samples_.ids();
    for (const std::int32_t id : ids.subspan(1, ids.size() - 2)) {
      const std::string_view token = vocabulary_[static_cast<std::size_t>(id)];
      const bool continues = token.size() > 2 && token.starts_with("##");
      if (!continues && !text_.empty()) text_ += ' ';
      text_ += continues ? token.substr(2) : token;
    }
  }

  TokenSamples samples_;
  std::vector<std::string> vocabulary_;
  std::string vocabulary_path_;
  std::size_t max_length_;
  std::int32_t cls_id_;
  std::int32_t sep_id_;
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
