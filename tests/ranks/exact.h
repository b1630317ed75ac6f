// Compares received data with the expected data, bit for bit.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/patterns.h"

namespace bp::test {

// Returns the first difference in bits, or "".
template <class T>
[[nodiscard]] std::string differences(const std::vector<T>& got, const std::vector<T>& wanted) {
  if (got.size() != wanted.size()) return "sizes differ";
  for (std::size_t j = 0; j < got.size(); ++j) {
    if (std::memcmp(&got[j], &wanted[j], sizeof(T)) != 0) {
      return concat("element ", j, " of ", got.size(), " is wrong");
    }
  }
  return "";
}

template <class T>
[[nodiscard]] std::vector<T> reduction(std::size_t first,
                                       std::size_t count,
                                       ReduceOp op,
                                       int ranks) {
  std::vector<T> wanted(count);
  for (std::size_t j = 0; j < count; ++j) wanted[j] = reduced_at<T>(first + j, op, ranks);
  return wanted;
}

}  // namespace bp::test
