// Chooses the tokens of a sample that a masked language model predicts, and hides them: 80 % of
// them become the tokenizer's mask token, 10 % any token of the vocabulary, and 10 % stay, as in
// BERT.
//
// A sample of n tokens has min(most, max(1, round(share * n))) chosen ones, where round() takes
// halves to the even number, as Python does; with whole words it may be fewer, because a word that
// would exceed the number is skipped, as in Google's create_pretraining_data.py. A special token of
// the tokenizer ([CLS], <s>, [UNK], ...) is never chosen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/tasks/pretrain/draws.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

struct MaskOptions {
  double share = 0.15;
  int most = 0;              // of one sample; 0: no bound
  bool whole_words = false;  // all pieces of a word are chosen, or none (see token_texts())
  // A dynamic mask is another one in each epoch, a static one the same in all.
  bool dynamic = true;
};

// The chosen tokens of a sample, by their positions.
struct Masks {
  std::vector<std::int32_t> positions = {};
  std::vector<std::int32_t> ids = {};  // what the tokens were
};

// Threads: any number of threads may use it at once.
class Masker {
 public:
  // Throws InputError (65) if the vocabulary has no mask token, or (2) for invalid options.
  Masker(const Vocabulary& vocabulary, const MaskOptions& options);

  // Returns the masks of a sample, and hides the tokens in `tokens`. All ids must be of the
  // vocabulary.
  [[nodiscard]] Masks hide(std::span<std::int32_t> tokens, Draws draws) const;

  // Returns the draws of a sample's mask in an epoch.
  [[nodiscard]] Draws draws_of(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) const;

  // Returns how many tokens of a sample of this length are chosen, if it has enough candidates.
  [[nodiscard]] std::int32_t count_of(std::size_t length) const;

  [[nodiscard]] const MaskOptions& options() const { return options_; }

 private:
  enum class Kind : std::uint8_t { special, first_piece, next_piece };
  // Where a candidate begins, and how many tokens it has.
  struct Candidate {
    std::int32_t begin = 0;
    std::int32_t size = 0;
  };
  [[nodiscard]] std::vector<Candidate> candidates(std::span<const std::int32_t> tokens) const;
  [[nodiscard]] std::int32_t hidden(std::int32_t id, Draws& draws) const;

  MaskOptions options_;
  std::vector<Kind> kinds_;  // of each id
  std::int32_t mask_id_ = 0;
};

}  // namespace bp::trainer
