// Makes the instances of a document, by the rules of Google's create_pretraining_data.py:
//
// - Sentences are collected until they have as many tokens as an instance may have, or in a share
//   of the cases (`short_share`) a random smaller number.
// - Without next sentences they are one segment.
// - With them, they are divided at random into two segments. In half of the cases the second
//   segment is replaced by sentences of another random document, as long as needed, and the
//   sentences that were not used are collected again.
// - What is too long loses tokens at the front or the back, at random, of the longer segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainer/tasks/pretrain/documents.h"
#include "trainer/tasks/pretrain/draws.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/tasks/pretrain/masks.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

struct InstanceOptions {
  int max_length = 128;  // tokens of an instance, with [CLS] and [SEP]
  double short_share = 0.1;
  bool next_sentences = true;
  int copies = 10;  // of each document, each with other cuts, random sentences and masks
  std::uint64_t seed = 0;
  std::optional<MaskOptions> masks = MaskOptions{.share = 0.15, .most = 20};  // none: no masks
};
// Throws InputError (2) for invalid ones. `separators`: see SampleForm.
void check(const InstanceOptions& options, int separators = 1);

// The token ids of documents, sentence after sentence. No sentence and no document is empty.
struct DocumentTokens {
  std::vector<std::int32_t> tokens = {};
  std::vector<std::size_t> sentences = {0};  // where each begins, and the end of the last
  std::vector<std::size_t> documents = {0};  // the same, in `sentences`

  [[nodiscard]] std::size_t size() const { return documents.size() - 1; }
};

class DocumentInstances {
 public:
  // `documents` and `masker`, which may be null, must outlive this object. `form`: of the
  // tokenizer's samples.
  DocumentInstances(const InstanceOptions& options,
                    const SampleForm& form,
                    const DocumentTokens& documents,
                    const Masker* masker)
      : options_(options), form_(form), documents_(documents), masker_(masker) {}

  // Adds the instances of a document. `draws` decides everything that is random.
  void add(std::size_t document, Draws draws, InstanceList& to);

 private:
  using Segment = std::span<const std::int32_t>;

  // The tokens of the sentences first .. last-1.
  [[nodiscard]] Segment segment(std::size_t first, std::size_t last) const;
  [[nodiscard]] Segment random_next(std::size_t document, std::size_t target, Draws& draws) const;
  [[nodiscard]] std::size_t collect(std::size_t first, std::size_t end, std::size_t target) const;
  std::size_t add_pair(std::size_t document,
                       std::size_t first,
                       std::size_t last,
                       std::size_t target,
                       Draws& draws,
                       InstanceList& to);
  void add_instance(
      Segment first, Segment second, NextSentence next, Draws& draws, InstanceList& to);
  [[nodiscard]] std::size_t room() const;  // for tokens of the text

  const InstanceOptions& options_;
  SampleForm form_;
  const DocumentTokens& documents_;
  const Masker* masker_;
  std::vector<std::int32_t> made_;  // the tokens of the instance that is being made
};

// Makes the instances of a block of documents.
struct InstanceCounts {
  std::int64_t documents = 0;
  std::int64_t sentences = 0;
  std::int64_t tokens = 0;  // of the text, once
  std::int64_t instances = 0;
};

// One thread may use it at a time.
class InstanceMaker {
 public:
  // Throws InputError: 2 for invalid options, and 65 for a vocabulary without a mask token.
  InstanceMaker(const Tokenizer& tokenizer,
                const Vocabulary& vocabulary,
                const InstanceOptions& options);

  // Replaces the content of `list`. The result depends only on the documents, the vocabulary
  // and the options.
  InstanceCounts make(const DocumentBlock& block, InstanceList& list);

 private:
  void tokenize(const DocumentBlock& block);
  void reserve(InstanceList& list) const;

  InstanceOptions options_;
  std::optional<Masker> masker_;
  Tokenizer tokenizer_;
  DocumentTokens tokens_;
  std::vector<std::size_t> numbers_;  // of the documents in tokens_, in their block
};

}  // namespace bp::trainer
