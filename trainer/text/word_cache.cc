#include "trainer/text/word_cache.h"

#include <xxhash.h>

namespace bp::trainer {
namespace {

constexpr std::size_t kFirstSlots = std::size_t{1} << 12;
constexpr std::size_t kMostSlots = std::size_t{1} << 18;  // 131,072 words, about 13 MB

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

std::uint64_t WordCache::hash_of(std::string_view word) {
  return XXH3_64bits(word.data(), word.size());
}

std::string_view WordCache::word_of(const Slot& slot) const {
  return {words_.data() + slot.word, slot.word_size};
}

std::size_t WordCache::place_of(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const auto is_of_another = [&](const Slot& slot) {
    return slot.word_size > 0 && (slot.hash != hash || word_of(slot) != word);
  };
  std::size_t at = hash & mask;
  while (is_of_another(slots_[at])) at = (at + 1) & mask;
  return at;
}

WordCache::Slot WordCache::stored(std::string_view word,
                                  std::uint64_t hash,
                                  std::span<const std::int32_t> ids) {
  const Slot slot = {.hash = hash,
                     .word = static_cast<std::uint32_t>(words_.size()),
                     .ids = static_cast<std::uint32_t>(ids_.size()),
                     .word_size = static_cast<std::uint32_t>(word.size()),
                     .ids_size = static_cast<std::uint32_t>(ids.size())};
  words_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  return slot;
}

void WordCache::grow() {
  if (slots_.size() == kMostSlots) {
    *this = WordCache();
    return;
  }
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.word_size > 0) slots_[place_of(word_of(slot), slot.hash)] = slot;
  }
}

}  // namespace bp::trainer
