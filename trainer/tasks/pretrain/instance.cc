#include "trainer/tasks/pretrain/instance.h"

#include "bp/error.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kPackedHead = 4;  // tokens, tokens of type 0, next sentence, masked tokens

}  // namespace

void append_packed(const Instance& instance, std::vector<std::int32_t>& numbers) {
  numbers.insert(numbers.end(), {static_cast<std::int32_t>(instance.tokens.size()), instance.first,
                                 static_cast<std::int32_t>(instance.next),
                                 static_cast<std::int32_t>(instance.positions.size())});
  for (const auto& own : {instance.tokens, instance.positions, instance.ids}) {
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
}

std::size_t packed_size(const Instance& instance) {
  return kPackedHead + instance.tokens.size() + 2 * instance.positions.size();
}

Instance packed_at(std::span<const std::int32_t> numbers) {
  const auto size_at = [&](std::size_t i) { return static_cast<std::size_t>(numbers[i]); };
  if (numbers.size() < kPackedHead || numbers.size() < kPackedHead + size_at(0) + 2 * size_at(3)) {
    throw Error(ErrorCode::invalid_argument, "these numbers are not a packed instance");
  }
  const auto body = numbers.subspan(kPackedHead, size_at(0) + 2 * size_at(3));
  return {body.first(size_at(0)), numbers[1], static_cast<NextSentence>(numbers[2]),
          body.subspan(size_at(0), size_at(3)), body.last(size_at(3))};
}

}  // namespace bp::trainer
