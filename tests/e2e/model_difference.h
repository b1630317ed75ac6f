// How far two trained models differ.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tests/support/largest_difference.h"
#include "trainer/model/files/safetensors.h"

namespace bp::test {

// The largest difference between two files of F32 tensors with the same names.
inline double largest_difference(const std::string& a, const std::string& b) {
  const auto floats = [](const std::string& path) {
    trainer::SafetensorsReader reader(path);
    std::map<std::string, std::vector<float>> tensors;
    for (const trainer::SafetensorsEntry& entry : reader.header().entries) {
      auto& values = tensors[entry.name];
      values.resize((entry.end - entry.begin) / sizeof(float));
      reader.read(entry, values.data());
    }
    return tensors;
  };
  const auto left = floats(a);
  const auto right = floats(b);
  EXPECT_EQ(left.size(), right.size());
  LargestDifference difference;
  for (const auto& [name, values] : left) {
    const auto& others = right.at(name);
    EXPECT_EQ(values.size(), others.size()) << name;
    for (std::size_t i = 0; i < std::min(values.size(), others.size()); ++i) {
      difference.add(values[i], others[i]);
    }
  }
  return difference.value();
}

}  // namespace bp::test
