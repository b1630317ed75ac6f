#include "trainer/text/word_cache.h"

#include <xxhash.h>

#include <cstring>

namespace bp::trainer {
namespace {

constexpr std::size_t kFirstSlots = std::size_t{1} << 12;
constexpr std::size_t kMostSlots = std::size_t{1} << 18;  // 131,072 words, about 13 MB

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

std::uint64_t WordCache::hash_of(std::string_view word) {
  return XXH3_64bits(word.data(), word.size());
}

WordCache::Lookup WordCache::find(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at].word_size != 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.word_size == word.size() &&
        std::memcmp(words_.data() + slot.word, word.data(), word.size()) == 0) {
      return {true, {ids_.data() + slot.ids, slot.ids_size}};
    }
  }
  return {};
}

void WordCache::store(std::string_view word,
                      std::uint64_t hash,
                      std::span<const std::int32_t> ids) {
  if (2 * (taken_ + 1) > slots_.size()) {
    grow();
  }
  Slot slot;
  slot.hash = hash;
  slot.word = static_cast<std::uint32_t>(words_.size());
  slot.ids = static_cast<std::uint32_t>(ids_.size());
  slot.word_size = static_cast<std::uint32_t>(word.size());
  slot.ids_size = static_cast<std::uint32_t>(ids.size());
  words_.insert(words_.end(), word.begin(), word.end());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  place(slot);
  ++taken_;
}

void WordCache::grow() {
  if (slots_.size() == kMostSlots) {
    *this = WordCache();
    return;
  }
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.word_size != 0) {
      place(slot);
    }
  }
}

void WordCache::place(const Slot& slot) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = slot.hash & mask;
  while (slots_[at].word_size != 0) {
    at = (at + 1) & mask;
  }
  slots_[at] = slot;
}

}  // namespace bp::trainer
