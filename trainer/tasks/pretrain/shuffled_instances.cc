#include "trainer/tasks/pretrain/shuffled_instances.h"

#include <numeric>
#include <span>
#include <utility>

namespace bp::trainer {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 15;  // numbers of a part
// In front of an instance's numbers: how many tokens and masks, the first segment's, and the next.
constexpr std::size_t kHead = 4;

std::uint32_t count_of(std::size_t number) { return static_cast<std::uint32_t>(number); }

}  // namespace

ShuffledInstances::ShuffledInstances(const std::string& folder,
                                     std::uint64_t seed,
                                     std::size_t parts)
    : draws_(seed, ~std::uint64_t{0}, 0) {
  for (std::size_t i = 0; i < parts; ++i) parts_.push_back({SpillFile(folder)});
}

void ShuffledInstances::add(const Instance& instance) {
  Part& part = parts_[draws_.below(count_of(parts_.size()))];
  std::vector<std::int32_t>& to = part.waiting;
  to.insert(to.end(), {static_cast<std::int32_t>(instance.tokens.size()),
                       static_cast<std::int32_t>(instance.positions.size()), instance.first,
                       static_cast<std::int32_t>(instance.next)});
  for (const auto& numbers : {instance.tokens, instance.positions, instance.ids}) {
    to.insert(to.end(), numbers.begin(), numbers.end());
  }
  if (to.size() >= kMostWaiting) {
    part.file.append(to.data(), to.size() * sizeof(to[0]));
    to.clear();
  }
  ++part.instances;
  ++size_;
}

InstanceList ShuffledInstances::read(const Part& part) const {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(part.file.size()) /
                                    sizeof(std::int32_t));
  if (!numbers.empty()) {
    part.file.read(0, numbers.data(), numbers.size() * sizeof(numbers[0]));
  }
  numbers.insert(numbers.end(), part.waiting.begin(), part.waiting.end());
  InstanceList list;
  for (std::span<const std::int32_t> left = numbers; !left.empty();) {
    const auto head = left.first(kHead);
    const auto tokens = static_cast<std::size_t>(head[0]);
    const auto masked = static_cast<std::size_t>(head[1]);
    const auto body = left.subspan(kHead, tokens + 2 * masked);
    list.add({body.first(tokens), head[2], static_cast<NextSentence>(head[3]),
              body.subspan(tokens, masked), body.last(masked)});
    left = left.subspan(kHead + body.size());
  }
  return list;
}

void ShuffledInstances::for_each(const std::function<void(const Instance&)>& take) {
  for (const Part& part : parts_) {
    const InstanceList list = read(part);
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::swap(order[i], order[i + draws_.below(count_of(order.size() - i))]);
      take(list[order[i]]);
    }
  }
}

}  // namespace bp::trainer
