// How far two trained models differ.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tests/support/largest_difference.h"
#include "trainer/model/files/safetensors.h"

namespace bp::test {

// Returns the F32 tensors of a file.
inline std::map<std::string, std::vector<float>> tensors_of(const std::string& path) {
  trainer::SafetensorsReader reader(path);
  std::map<std::string, std::vector<float>> tensors;
  for (const trainer::SafetensorsEntry& entry : reader.header().entries) {
    auto& values = tensors[entry.name];
    values.resize((entry.end - entry.begin) / sizeof(float));
    reader.read(entry, values.data());
  }
  return tensors;
}

// Adds each pair of tensors with one name, of two files with the same names and shapes.
template <class Add>
void add_pairs(const std::string& a, const std::string& b, const Add& add) {
  const auto left = tensors_of(a);
  const auto right = tensors_of(b);
  EXPECT_EQ(left.size(), right.size());
  for (const auto& [name, values] : left) {
    const auto& others = right.at(name);
    ASSERT_EQ(values.size(), others.size()) << name;
    add(name, values, others);
  }
}

// The largest difference between two files of F32 tensors with the same names.
inline double largest_difference(const std::string& a, const std::string& b) {
  LargestDifference difference;
  add_pairs(a, b, [&](const std::string&, const auto& values, const auto& others) {
    for (std::size_t i = 0; i < values.size(); ++i) difference.add(values[i], others[i]);
  });
  return difference.value();
}

// The largest norm of a tensor's difference, as a part of the tensor's norm. The biases of
// attention's keys do not count: a softmax does not see them, so rounding alone changes them.
inline double largest_part_of_norm(const std::string& a, const std::string& b) {
  LargestDifference part;
  add_pairs(a, b, [&](const std::string& name, const auto& values, const auto& others) {
    if (name.ends_with("key.bias")) return;
    double norm = 0;
    double difference = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      norm += std::pow(values[i], 2);
      difference += std::pow(values[i] - others[i], 2);
    }
    part.add(difference == 0 ? 0 : std::sqrt(difference / norm));
  });
  return part.value();
}

}  // namespace bp::test
