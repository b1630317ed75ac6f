// Makes the instances of a block of documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trainer/tasks/pretrain/document_instances.h"
#include "trainer/tasks/pretrain/documents.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/tasks/pretrain/masks.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

struct InstanceCounts {
  std::int64_t documents = 0;
  std::int64_t sentences = 0;
  std::int64_t tokens = 0;  // of the text, once
  std::int64_t instances = 0;
};

// One thread may use it at a time.
class InstanceMaker {
 public:
  // Throws InputError: 2 for invalid options, and 65 for a vocabulary without [MASK].
  InstanceMaker(const Tokenizer& tokenizer,
                const Vocabulary& vocabulary,
                const InstanceOptions& options);

  // Replaces the content of `instances`. The result depends only on the documents, the vocabulary
  // and the options.
  InstanceCounts make(const DocumentBlock& block, InstanceList& instances);

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
