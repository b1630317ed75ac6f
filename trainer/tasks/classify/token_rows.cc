#include "trainer/tasks/classify/token_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/data/make_vocabulary.h"

namespace bp::trainer {
namespace {

constexpr const char* kVocabularyHint =
    "--vocab takes the vocab.txt that the samples were made with, such as bert-base-uncased's";

std::int32_t id_of(const std::vector<std::string>& vocabulary, std::string_view token) {
  return static_cast<std::int32_t>(std::ranges::find(vocabulary, token) - vocabulary.begin());
}

}  // namespace

TokenRows::TokenRows(const std::string& path, const PrepareOptions& options)
    : samples_(path),
      vocabulary_(needed_vocabulary(path, options).tokens),
      vocabulary_path_(options.vocabulary),
      max_length_(static_cast<std::size_t>(options.max_length)),
      cls_id_(id_of(vocabulary_, "[CLS]")),
      sep_id_(id_of(vocabulary_, "[SEP]")) {}

bool TokenRows::next() {
  if (!samples_.next()) return false;
  ++number_;
  require_sample();
  write_text();
  code_ = concat(samples_.code());
  const std::span<const std::int32_t> ids = samples_.ids();
  const auto* const bytes = reinterpret_cast<const char*>(ids.data());
  fields_[0] = text_;
  fields_[kTokenIdsField] = std::string_view(bytes, ids.size_bytes());
  fields_[kLabelCodeField] = code_;
  fields_[3] = samples_.label();
  return true;
}

void TokenRows::require_sample() const {
  const std::span<const std::int32_t> ids = samples_.ids();
  for (const std::int32_t id : ids) {
    if (std::cmp_less(id, vocabulary_.size())) continue;
    throw InputError(65,
                     concat(place(), ": has the token id ", id, ", but ", vocabulary_path_, " has ",
                            vocabulary_.size(), " tokens"),
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
        65, concat(place(), ": has ", ids.size(), " tokens, more than --max-length ", max_length_),
        concat("give --max-length ", ids.size(), " or more"));
  }
}

// The pieces of a word after its first one begin with ##. So may a sample, where a longer text was
// divided within a word.
void TokenRows::write_text() {
  text_.clear();
  const std::span<const std::int32_t> ids = samples_.ids();
  for (const std::int32_t id : ids.subspan(1, ids.size() - 2)) {
    const std::string_view token = vocabulary_[static_cast<std::size_t>(id)];
    const bool continues = token.size() > 2 && token.starts_with("##");
    if (!continues && !text_.empty()) text_ += ' ';
    text_ += continues ? token.substr(2) : token;
  }
}

void read_token_ids(std::string_view field, std::vector<std::int32_t>& ids) {
  ids.resize(field.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), field.data(), ids.size() * sizeof(std::int32_t));
}

}  // namespace bp::trainer
