#include "trainer/tasks/pretrain/masks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/text/token_texts.h"

namespace bp::trainer {
namespace {

constexpr double kBecomesMask = 0.8;
constexpr double kOthersStay = 0.5;  // of those that do not become the mask token

void check(const MaskOptions& options) {
  if (!(options.share > 0 && options.share < 1)) {
    throw InputError(2, concat("a share of ", options.share, " masked tokens"),
                     "give a number between 0 and 1; BERT's is 0.15");
  }
  if (options.most < 0) {
    throw InputError(2, concat("at most ", options.most, " masked tokens in a sample"),
                     "give 0 for no bound, or a number above 0");
  }
}

[[noreturn]] void refuse(const Vocabulary& vocabulary) {
  if (vocabulary.pipeline == nullptr) {
    throw InputError(65, "the vocabulary has no [MASK]",
                     "pre-training hides tokens behind it: add the line [MASK] to the vocabulary");
  }
  throw InputError(65, "the tokenizer has neither [MASK] nor <mask>",
                   "pre-training hides tokens behind it: add it to added_tokens in tokenizer.json");
}

}  // namespace

Masker::Masker(const Vocabulary& vocabulary, const MaskOptions& options) : options_(options) {
  check(options);
  const SampleForm form = form_of(vocabulary);
  mask_id_ = form.mask;
  if (mask_id_ < 0) refuse(vocabulary);
  kinds_.reserve(vocabulary.tokens.size());
  for (const TokenText& token : token_texts(vocabulary)) {
    kinds_.push_back(token.begins_word ? Kind::first_piece : Kind::next_piece);
  }
  for (const std::int32_t id : {form.pad, form.unknown, form.cls, form.sep, form.mask}) {
    if (id >= 0) kinds_[static_cast<std::size_t>(id)] = Kind::special;
  }
}

Draws Masker::draws_of(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) const {
  return {seed, static_cast<std::uint64_t>(options_.dynamic ? epoch : 0),
          static_cast<std::uint64_t>(sample)};
}

std::int32_t Masker::count_of(std::size_t length) const {
  const double wanted = std::nearbyint(options_.share * static_cast<double>(length));
  const auto count = std::max(1, static_cast<std::int32_t>(wanted));
  return options_.most > 0 ? std::min(options_.most, count) : count;
}

std::vector<Masker::Candidate> Masker::candidates(std::span<const std::int32_t> tokens) const {
  std::vector<Candidate> found;
  found.reserve(tokens.size());
  for (std::int32_t at = 0; std::cmp_less(at, tokens.size()); ++at) {
    const auto i = static_cast<std::size_t>(at);
    const Kind kind = kinds_.at(static_cast<std::size_t>(tokens[i]));
    if (kind == Kind::special) continue;
    const bool goes_on = options_.whole_words && kind == Kind::next_piece && !found.empty() &&
                         found.back().begin + found.back().size == at;
    if (goes_on) {
      ++found.back().size;
    } else {
      found.push_back({at, 1});
    }
  }
  return found;
}

std::int32_t Masker::hidden(std::int32_t id, Draws& draws) const {
  if (draws.happens(kBecomesMask)) return mask_id_;
  if (draws.happens(kOthersStay)) return id;
  return static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(kinds_.size())));
}

Masks Masker::hide(std::span<std::int32_t> tokens, Draws draws) const {
  std::vector<Candidate> left = candidates(tokens);
  const std::int32_t wanted = count_of(tokens.size());
  Masks masks;
  masks.positions.reserve(static_cast<std::size_t>(wanted));
  masks.ids.reserve(static_cast<std::size_t>(wanted));
  // Takes the candidates in a random order: each step swaps one of those that are left to `i`.
  for (std::size_t i = 0; i < left.size() && std::ssize(masks.positions) < wanted; ++i) {
    std::swap(left[i], left[i + draws.below(static_cast<std::uint32_t>(left.size() - i))]);
    const Candidate& word = left[i];
    if (std::ssize(masks.positions) + word.size > wanted) continue;
    for (std::int32_t n = 0; n < word.size; ++n) masks.positions.push_back(word.begin + n);
  }
  std::ranges::sort(masks.positions);
  for (const std::int32_t position : masks.positions) {
    std::int32_t& token = tokens[static_cast<std::size_t>(position)];
    masks.ids.push_back(token);
    token = hidden(token, draws);
  }
  return masks;
}

}  // namespace bp::trainer
