#include "trainer/model/passes/layout.h"

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
  layout.lengths.assign(lengths.begin(), lengths.end());
  for (const std::int32_t length : lengths) {
    BP_CHECK(length > 0, "a sample has at least one token");
    layout.longest = std::max(layout.longest, length);
  }
  layout.longest = round_up(layout.longest, kWidthMultiple);
  layout.offsets.push_back(0);
  for (std::int32_t row = 0; row < layout.rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (std::int64_t place = 0; place < lengths[r]; ++place) {
      layout.row_of_token.push_back(row);
      layout.sample_of_token.push_back(samples[r]);
      layout.place_of_token.push_back(place);
      layout.padded_of_token.push_back(std::int64_t{row} * layout.longest + place);
    }
    layout.offsets.push_back(layout.offsets.back() + lengths[r]);
  }
  layout.tokens = round_up(layout.offsets.back(), multiple);
  const auto tokens = static_cast<std::size_t>(layout.tokens);
  layout.row_of_token.resize(tokens, -1);
  layout.sample_of_token.resize(tokens);
  layout.place_of_token.resize(tokens);
  layout.padded_of_token.resize(tokens);
  return layout;
}

Layout first_tokens(const Layout& layout) {
  Layout first =
      make_layout(std::vector<std::int32_t>(layout.samples.size(), 1), layout.samples, 1);
  first.longest = 1;
  return first;
}

}  // namespace bp::trainer
