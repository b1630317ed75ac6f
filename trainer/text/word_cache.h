// A bounded hash table from the bytes of a word to its token ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

class WordCache {
 public:
  WordCache();

  // Appends the ids of a word, which is not empty. `make(word, ids)` appends them if the cache does
  // not have them.
  template <class Make>
  void append(std::string_view word, std::vector<std::int32_t>& ids, const Make& make) {
    constexpr std::size_t kLongest = 48;  // longer words (Chinese, links) rarely occur twice
    if (word.size() > kLongest) return make(word, ids);
    const std::uint64_t hash = hash_of(word);
    const std::size_t place = place_of(word, hash);
    if (const Slot& slot = slots_[place]; slot.word_size > 0) {
      const auto known = std::span(ids_).subspan(slot.ids, slot.ids_size);
      ids.insert(ids.end(), known.begin(), known.end());
      return;
    }
    const std::size_t before = ids.size();
    make(word, ids);
    slots_[place] = stored(word, hash, std::span(ids).subspan(before));
    if (2 * ++taken_ > slots_.size()) grow();
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t word = 0;       // offset in words_
    std::uint32_t ids = 0;        // offset in ids_
    std::uint32_t word_size = 0;  // 0: the slot is free
    std::uint32_t ids_size = 0;
  };

  static std::uint64_t hash_of(std::string_view word);
  [[nodiscard]] std::string_view word_of(const Slot& slot) const;
  // Returns the index of the slot of a word, or of a free one for it.
  [[nodiscard]] std::size_t place_of(std::string_view word, std::uint64_t hash) const;
  [[nodiscard]] Slot stored(std::string_view word,
                            std::uint64_t hash,
                            std::span<const std::int32_t> ids);
  void grow();  // empties a full cache

  std::vector<Slot> slots_;  // the size is a power of two; at most half of the slots are used
  std::size_t taken_ = 0;
  std::string words_;
  std::vector<std::int32_t> ids_;
};

}  // namespace bp::trainer
