#include "trainer/prepare/sample_list.h"

#include <utility>
#include <variant>

namespace bp::trainer {
namespace {

ArrayValues values_of(const ArrayView& array) {
  struct Visitor {
    ArrayValues operator()(std::int64_t integer) const { return {.integers = {integer}}; }
    ArrayValues operator()(double real) const { return {.reals = {real}}; }
    ArrayValues operator()(std::span<const std::int32_t> integers) const {
      return {.integers = {integers.begin(), integers.end()}};
    }
    ArrayValues operator()(std::span<const double> reals) const {
      return {.reals = {reals.begin(), reals.end()}};
    }
  };
  return std::visit(Visitor{}, array);
}

}  // namespace

void SampleList::add(std::span<const std::int32_t> token_ids, std::span<const ArrayView> arrays) {
  Sample sample{
      .sample_id = ++last_id_, .text_id = row_, .token_ids = {token_ids.begin(), token_ids.end()}};
  for (const ArrayView& array : arrays) sample.arrays.push_back(values_of(array));
  samples_.push_back(std::move(sample));
}

}  // namespace bp::trainer
