#include "trainer/tasks/pretrain/packed_instance.h"

#include <cstddef>
#include <cstring>
#include <span>

#include "bp/error.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kPackedHead = 4;  // tokens, tokens of type 0, next sentence, masked tokens

void append_numbers(std::span<const std::int32_t> numbers, std::string& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + numbers.size_bytes());
  if (!numbers.empty()) std::memcpy(bytes.data() + at, numbers.data(), numbers.size_bytes());
}

}  // namespace

void pack(const Instance& instance, std::string& bytes) {
  bytes.clear();
  const std::int32_t head[kPackedHead] = {static_cast<std::int32_t>(instance.tokens.size()),
                                          instance.first, static_cast<std::int32_t>(instance.next),
                                          static_cast<std::int32_t>(instance.positions.size())};
  append_numbers(head, bytes);
  append_numbers(instance.tokens, bytes);
  append_numbers(instance.positions, bytes);
  append_numbers(instance.ids, bytes);
}

void PackedInstance::read(std::string_view bytes) {
  numbers_.resize(bytes.size() / sizeof(std::int32_t));
  if (!numbers_.empty()) std::memcpy(numbers_.data(), bytes.data(), numbers_.size() * 4);
  const std::span<const std::int32_t> all = numbers_;
  const auto size_at = [&](std::size_t i) { return static_cast<std::size_t>(all[i]); };
  if (all.size() < kPackedHead || all.size() != kPackedHead + size_at(0) + 2 * size_at(3)) {
    throw Error(ErrorCode::invalid_argument, "these bytes are no packed instance");
  }
  const std::size_t tokens = size_at(0);
  const std::size_t masked = size_at(3);
  const auto rest = all.subspan(kPackedHead);
  instance_ = {rest.first(tokens), all[1], static_cast<NextSentence>(all[2]),
               rest.subspan(tokens, masked), rest.last(masked)};
}

}  // namespace bp::trainer
