#include "trainer/tasks/pretrain/document_instances.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kShortestTarget = 2;

std::uint32_t count(std::size_t number) { return static_cast<std::uint32_t>(number); }

// Removes tokens at the front or the back of the longer segment, as many as are too many.
void truncate(std::span<const std::int32_t>& first,
              std::span<const std::int32_t>& second,
              std::size_t room,
              Draws& draws) {
  while (first.size() + second.size() > room) {
    auto& longer = first.size() > second.size() ? first : second;
    longer = draws.happens(0.5) ? longer.subspan(1) : longer.first(longer.size() - 1);
  }
}

}  // namespace

void check(const InstanceOptions& options, int separators) {
  const int shortest = 4 + separators;  // [CLS] a [SEP] b [SEP]
  if (options.max_length < shortest) {
    throw InputError(2, concat("instances of ", options.max_length, " tokens"),
                     concat("give a length of ", shortest, " or more"));
  }
  if (!(options.short_share >= 0 && options.short_share <= 1)) {
    throw InputError(2, concat("a share of ", options.short_share, " short instances"),
                     "give a number between 0 and 1; BERT's is 0.1");
  }
  if (options.copies < 1) {
    throw InputError(2, concat(options.copies, " copies of each document"), "give 1 or more");
  }
}

std::size_t DocumentInstances::room() const {
  const int special = options_.next_sentences ? 2 + form_.separators : 2;
  return static_cast<std::size_t>(options_.max_length - special);
}

DocumentInstances::Segment DocumentInstances::segment(std::size_t first, std::size_t last) const {
  const std::size_t begin = documents_.sentences[first];
  return Segment(documents_.tokens).subspan(begin, documents_.sentences[last] - begin);
}

// Returns the end of the sentences from `first` on that have `target` tokens, or all up to `end`.
std::size_t DocumentInstances::collect(std::size_t first,
                                       std::size_t end,
                                       std::size_t target) const {
  const std::size_t wanted = documents_.sentences[first] + target;
  const auto begin = documents_.sentences.begin();
  const auto found = std::lower_bound(begin + static_cast<std::ptrdiff_t>(first) + 1,
                                      begin + static_cast<std::ptrdiff_t>(end), wanted);
  return static_cast<std::size_t>(found - begin);
}

void DocumentInstances::add(std::size_t document, Draws draws, InstanceList& to) {
  std::size_t target = room();
  if (draws.happens(options_.short_share)) {
    target = kShortestTarget + draws.below(count(room() - kShortestTarget + 1));
  }
  const std::size_t end = documents_.documents[document + 1];
  for (std::size_t first = documents_.documents[document]; first < end;) {
    const std::size_t last = collect(first, end, target);
    if (options_.next_sentences) {
      first = add_pair(document, first, last, target, draws, to);
    } else {
      add_instance(segment(first, last), {}, NextSentence::none, draws, to);
      first = last;
    }
  }
}

// Makes an instance of the sentences first .. last-1. Returns the first of those that it does not
// use.
std::size_t DocumentInstances::add_pair(std::size_t document,
                                        std::size_t first,
                                        std::size_t last,
                                        std::size_t target,
                                        Draws& draws,
                                        InstanceList& to) {
  const std::size_t sentences = last - first;
  const std::size_t cut = first + 1 + (sentences > 2 ? draws.below(count(sentences - 1)) : 0);
  const Segment before = segment(first, cut);
  if (sentences > 1 && !draws.happens(0.5)) {
    add_instance(before, segment(cut, last), NextSentence::follows, draws, to);
    return last;
  }
  const std::size_t missing = target > before.size() ? target - before.size() : 0;
  add_instance(before, random_next(document, missing, draws), NextSentence::random, draws, to);
  return cut;
}

// Returns the tokens of sentences of another random document, from a random one on: `target` or
// more, or up to its end.
DocumentInstances::Segment DocumentInstances::random_next(std::size_t document,
                                                          std::size_t target,
                                                          Draws& draws) const {
  std::size_t other = document;
  if (documents_.size() > 1) {
    other = draws.below(count(documents_.size() - 1));
    if (other >= document) ++other;
  }
  const std::size_t begin = documents_.documents[other];
  const std::size_t end = documents_.documents[other + 1];
  const std::size_t first = begin + draws.below(count(end - begin));
  return segment(first, collect(first, end, target));
}

void DocumentInstances::add_instance(
    Segment first, Segment second, NextSentence next, Draws& draws, InstanceList& to) {
  truncate(first, second, room(), draws);
  made_.assign(1, form_.cls);
  made_.insert(made_.end(), first.begin(), first.end());
  const bool is_pair = next != NextSentence::none;
  made_.insert(made_.end(), static_cast<std::size_t>(is_pair ? form_.separators : 1), form_.sep);
  const auto of_first = static_cast<std::int32_t>(made_.size());
  if (is_pair) {
    made_.insert(made_.end(), second.begin(), second.end());
    made_.push_back(form_.sep);
  }
  Masks masks;
  if (masker_ != nullptr) masks = masker_->hide(made_, Draws(draws.next(), 0, 0));
  to.add({made_, of_first, next, masks.positions, masks.ids});
}

InstanceMaker::InstanceMaker(const Tokenizer& tokenizer,
                             const Vocabulary& vocabulary,
                             const InstanceOptions& options)
    : options_(options), tokenizer_(tokenizer) {
  check(options, tokenizer_.form().separators);
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
  DocumentInstances instances(options_, tokenizer_.form(), tokens_, masker_ ? &*masker_ : nullptr);
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
