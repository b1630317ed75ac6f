#include "trainer/prepare/sample_list.h"

#include <utility>
#include <variant>

namespace bp::trainer {
namespace {

ArrayValues values_of(const ArrayView& array) {
  using Integers = std::span<const std::int32_t>;
  if (const auto* integer = std::get_if<std::int64_t>(&array)) return {.integers = {*integer}};
  if (const auto* real = std::get_if<double>(&array)) return {.reals = {*real}};
  if (const auto* all = std::get_if<Integers>(&array)) {
    return {.integers = {all->begin(), all->end()}};
  }
  const auto reals = std::get<std::span<const double>>(array);
  return {.reals = {reals.begin(), reals.end()}};
}

}  // namespace

void SampleList::add(std::span<const std::int32_t> token_ids, std::span<const ArrayView> arrays) {
  Sample sample{
      .sample_id = ++last_id_, .text_id = row_, .token_ids = {token_ids.begin(), token_ids.end()}};
  for (const ArrayView& array : arrays) sample.arrays.push_back(values_of(array));
  samples_.push_back(std::move(sample));
}

}  // namespace bp::trainer
