#include "trainer/tasks/pretrain/shuffled_instances.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace bp::trainer {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 15;  // numbers of a part

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
  append_packed(instance, to);
  if (to.size() >= kMostWaiting) {
    part.file.append(to.data(), to.size() * sizeof(to[0]));
    to.clear();
  }
  ++part.instances;
  ++size_;
}

std::vector<std::int32_t> ShuffledInstances::read(const Part& part) {
  const auto size = static_cast<std::size_t>(part.file.size());
  std::vector<std::int32_t> numbers(size / sizeof(std::int32_t) + part.waiting.size());
  if (size > 0) part.file.read(0, numbers.data(), size);
  std::ranges::copy(part.waiting, numbers.end() - std::ssize(part.waiting));
  return numbers;
}

void ShuffledInstances::for_each(const std::function<void(const Instance&)>& take) {
  for (const Part& part : parts_) {
    const std::vector<std::int32_t> numbers = read(part);
    std::vector<std::size_t> begins;
    begins.reserve(static_cast<std::size_t>(part.instances));
    for (std::size_t begin = 0; begin < numbers.size();) {
      begins.push_back(begin);
      begin += packed_size(packed_at(std::span(numbers).subspan(begin)));
    }
    for (std::size_t i = 0; i < begins.size(); ++i) {
      std::swap(begins[i], begins[i + draws_.below(count_of(begins.size() - i))]);
      take(packed_at(std::span(numbers).subspan(begins[i])));
    }
  }
}

}  // namespace bp::trainer
