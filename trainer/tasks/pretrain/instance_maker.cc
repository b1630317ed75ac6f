#include "trainer/tasks/pretrain/instance_maker.h"

#include <iterator>
#include <string_view>

namespace bp::trainer {

InstanceMaker::InstanceMaker(const Tokenizer& tokenizer,
                             const Vocabulary& vocabulary,
                             const InstanceOptions& options)
    : options_(options), tokenizer_(tokenizer.another()) {
  check(options);
  if (options.masks) masker_.emplace(vocabulary, *options.masks);
}

// Leaves out sentences and documents without any token.
void InstanceMaker::tokenize(const DocumentBlock& block) {
  tokens_.tokens.clear();
  tokens_.sentences.assign(1, 0);
  tokens_.documents.assign(1, 0);
  numbers_.clear();
  std::size_t begin = 0;
  std::size_t sentence = 0;
  for (std::size_t number = 0; number < block.documents.size(); ++number) {
    for (; sentence < block.documents[number]; ++sentence) {
      const std::size_t end = block.sentences[sentence];
      tokenizer_.encode(std::string_view(block.text).substr(begin, end - begin), tokens_.tokens);
      begin = end;
      if (tokens_.tokens.size() == tokens_.sentences.back()) continue;
      tokens_.sentences.push_back(tokens_.tokens.size());
    }
    if (tokens_.sentences.size() - 1 == tokens_.documents.back()) continue;
    tokens_.documents.push_back(tokens_.sentences.size() - 1);
    numbers_.push_back(number);
  }
}

// Each copy has about all tokens once, with a half more in random segments and masks.
void InstanceMaker::reserve(InstanceList& list) const {
  const std::size_t all = tokens_.tokens.size() * static_cast<std::size_t>(options_.copies);
  list.reserve(3 * all / static_cast<std::size_t>(options_.max_length), 2 * all);
}

InstanceCounts InstanceMaker::make(const DocumentBlock& block, InstanceList& list) {
  tokenize(block);
  DocumentInstances instances(options_, {tokenizer_.cls_id(), tokenizer_.sep_id()}, tokens_,
                              masker_ ? &*masker_ : nullptr);
  list.clear();
  reserve(list);
  const std::size_t others = block.begins_with_other ? 1 : 0;
  const std::size_t own = !numbers_.empty() && numbers_[0] < others ? 1 : 0;
  for (int copy = 0; copy < options_.copies; ++copy) {
    for (std::size_t i = own; i < tokens_.size(); ++i) {
      const std::size_t document =
          static_cast<std::size_t>(block.first_document) + numbers_[i] - others;
      instances.add(i, Draws(options_.seed, static_cast<std::uint64_t>(copy), document), list);
    }
  }
  const std::size_t first = tokens_.documents[own];
  return {static_cast<std::int64_t>(tokens_.size() - own),
          std::ssize(tokens_.sentences) - 1 - static_cast<std::int64_t>(first),
          static_cast<std::int64_t>(tokens_.tokens.size() - tokens_.sentences[first]),
          static_cast<std::int64_t>(list.size())};
}

}  // namespace bp::trainer
