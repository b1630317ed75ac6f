#include "trainer/data/repeated_texts.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace bp::trainer {

template <class Body>
void TextRows::for_each_group(const Body& body) {
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return std::tie(a.text, a.row) < std::tie(b.text, b.row);
  });
  for (auto begin = rows_.begin(); begin != rows_.end();) {
    const auto end =
        std::find_if(begin, rows_.end(), [&](const Row& row) { return row.text != begin->text; });
    if (end - begin > 1) {
      body(std::span<const Row>(begin, end));
    }
    begin = end;
  }
}

std::size_t TextRows::source_of(std::int64_t row) const {
  const auto next = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
  return static_cast<std::size_t>(next - first_rows_.begin()) - 1;
}

std::vector<std::int64_t> TextRows::repeats() {
  std::vector<std::int64_t> dropped;
  for_each_group([&](std::span<const Row> group) {
    const std::int64_t begin = first_rows_[source_of(group.back().row)];
    const auto kept =
        std::find_if(group.begin(), group.end(), [&](const Row& row) { return row.row >= begin; });
    for (const Row& row : group) {
      if (row.row != kept->row) {
        dropped.push_back(row.row);
      }
    }
  });
  std::sort(dropped.begin(), dropped.end());
  return dropped;
}

TextRows::Leaks TextRows::leaks(
    const std::function<Split(std::size_t source, std::int64_t row)>& split_of) {
  Leaks leaks;
  for_each_group([&](std::span<const Row> group) {
    std::int64_t dev = 0;
    std::int64_t test = 0;
    bool trained_on = false;
    for (const Row& row : group) {
      const std::size_t source = source_of(row.row);
      const Split split = split_of(source, row.row - first_rows_[source] + 1);
      trained_on = trained_on || split == Split::train;
      dev += split == Split::dev ? 1 : 0;
      test += split == Split::test ? 1 : 0;
    }
    leaks.dev += trained_on ? dev : 0;
    leaks.test += trained_on ? test : 0;
  });
  return leaks;
}

}  // namespace bp::trainer
