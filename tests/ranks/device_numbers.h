// Numbers on the host and on a device.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "tests/ranks/device_copy.h"

namespace bp::test {

// first, first + 1, ...
inline std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

inline std::vector<float> values_of(const OnDevice& there, std::size_t count) {
  std::vector<float> values(count);
  there.back(view(values));
  return values;
}

}  // namespace bp::test
