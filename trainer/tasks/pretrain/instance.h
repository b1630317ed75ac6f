// An instance is what pre-training learns from: one or two segments of text as token ids, and for
// static masks the tokens that are hidden.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/pretrain/masks.h"

namespace bp::trainer {

// Whether the second segment follows the first one. The numbers are those of NVIDIA's shards.
enum class NextSentence : std::int8_t { none = -1, follows = 0, random = 1 };

// A view of an instance.
struct Instance {
  std::span<const std::int32_t> tokens;     // [CLS] first [SEP] second [SEP], or [CLS] first [SEP]
  std::int32_t first = 0;                   // tokens of type 0: [CLS] first [SEP]
  NextSentence next = NextSentence::none;   // none: there is one segment
  std::span<const std::int32_t> positions;  // of the hidden tokens, ascending; empty: no masks
  std::span<const std::int32_t> ids;        // what they were
};

// Instances in a few large arrays.
class InstanceList {
 public:
  void add(const Instance& instance) {
    numbers_.insert(numbers_.end(), instance.tokens.begin(), instance.tokens.end());
    numbers_.insert(numbers_.end(), instance.positions.begin(), instance.positions.end());
    numbers_.insert(numbers_.end(), instance.ids.begin(), instance.ids.end());
    entries_.push_back({.end = numbers_.size(),
                        .tokens = static_cast<std::int32_t>(instance.tokens.size()),
                        .masked = static_cast<std::int32_t>(instance.positions.size()),
                        .first = instance.first,
                        .next = instance.next});
  }
  void reserve(std::size_t instances, std::size_t numbers) {
    entries_.reserve(instances);
    numbers_.reserve(numbers);
  }
  void clear() {
    numbers_.clear();
    entries_.clear();
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return numbers_.size() * sizeof(numbers_[0]) + entries_.size() * sizeof(Entry);
  }
  // Valid until the next add() or clear().
  [[nodiscard]] Instance operator[](std::size_t index) const {
    const Entry& entry = entries_[index];
    const auto tokens = static_cast<std::size_t>(entry.tokens);
    const auto masked = static_cast<std::size_t>(entry.masked);
    const std::span all(numbers_.data() + entry.end - tokens - 2 * masked, tokens + 2 * masked);
    return {.tokens = all.first(tokens),
            .first = entry.first,
            .next = entry.next,
            .positions = all.subspan(tokens, masked),
            .ids = all.last(masked)};
  }

 private:
  struct Entry {
    std::size_t end = 0;  // in numbers_
    std::int32_t tokens = 0;
    std::int32_t masked = 0;
    std::int32_t first = 0;
    NextSentence next = NextSentence::none;
  };
  std::vector<std::int32_t> numbers_;
  std::vector<Entry> entries_;
};

// An instance as numbers, in which it travels as the field of a row and lies in a temporary file.
void append_packed(const Instance& instance, std::vector<std::int32_t>& numbers);
[[nodiscard]] std::size_t packed_size(const Instance& instance);
// Returns the instance with which the numbers begin, a view of them. Throws invalid_argument for
// fewer numbers than it has.
[[nodiscard]] Instance packed_at(std::span<const std::int32_t> numbers);

}  // namespace bp::trainer
