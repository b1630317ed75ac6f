#include "trainer/model/layout.h"

#include <algorithm>

#include "base/check.h"

namespace bp::trainer {
namespace {

constexpr int kWidthMultiple = 16;

template <class T>
T round_up(T value, T multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Layout make_layout(const std::vector<std::int32_t>& lengths,
                   const std::vector<std::int64_t>& samples,
                   std::int64_t multiple) {
  BP_CHECK(lengths.size() == samples.size(), "a batch has as many lengths as sample ids");
  Layout layout;
  layout.rows = static_cast<int>(lengths.size());
  layout.samples = samples;
  layout.offsets.push_back(0);
  for (const std::int32_t length : lengths) {
    BP_CHECK(length > 0, "a sample has at least one token");
    const auto row = static_cast<std::int32_t>(layout.offsets.size()) - 1;
    layout.row_of_token.insert(layout.row_of_token.end(), static_cast<std::size_t>(length), row);
    layout.offsets.push_back(layout.offsets.back() + length);
    layout.longest = std::max(layout.longest, length);
  }
  layout.longest = round_up(layout.longest, kWidthMultiple);
  layout.tokens = round_up(layout.offsets.back(), multiple);
  layout.row_of_token.resize(static_cast<std::size_t>(layout.tokens), -1);
  return layout;
}

Layout first_tokens(const Layout& layout) {
  Layout first;
  first.rows = layout.rows;
  first.longest = 1;
  first.samples = layout.samples;
  first.tokens = layout.rows;
  for (std::int32_t row = 0; row < layout.rows; ++row) {
    first.offsets.push_back(row);
    first.row_of_token.push_back(row);
  }
  first.offsets.push_back(layout.rows);
  return first;
}

}  // namespace bp::trainer
