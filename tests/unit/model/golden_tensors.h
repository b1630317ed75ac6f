// Reads the golden files that transformers wrote, and compares a model with them.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"
#include "trainer/model/files/safetensors.h"

namespace bp::trainer {

inline std::map<std::string, at::Tensor> read_tensors(const std::string& path) {
  std::map<std::string, at::Tensor> result;
  SafetensorsReader reader(path);
  for (const SafetensorsEntry& entry : reader.header().entries) {
    at::Tensor tensor = at::empty(entry.shape, entry.type == "I64" ? at::kLong : at::kFloat);
    reader.read(entry, tensor.data_ptr());
    result.emplace(entry.name, tensor);
  }
  return result;
}

template <class T>
std::vector<T> vector_of(const at::Tensor& tensor) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    result.push_back(static_cast<T>(tensor.const_data_ptr<std::int64_t>()[i]));
  }
  return result;
}

// Returns the norm of the difference, as a share of the norm of `right`.
inline double relative_error(const at::Tensor& got, const at::Tensor& right) {
  return (got.cpu() - right).norm().item<double>() / right.norm().item<double>();
}

inline Batch golden_batch(const std::map<std::string, at::Tensor>& expected) {
  Batch batch;
  batch.rows = 4;
  batch.length = 11;
  batch.token_ids = vector_of<std::int64_t>(expected.at("ids"));
  batch.lengths = vector_of<std::int32_t>(expected.at("lengths"));
  batch.arrays = {{.integers = vector_of<std::int64_t>(expected.at("labels"))}};
  batch.sample_ids = {100, 101, 102, 103};
  if (expected.contains("types")) {
    batch.token_types = vector_of<std::int64_t>(expected.at("types"));
  }
  return batch;
}

// Returns the gradients under transformers' names, with query, key and value separate.
inline std::map<std::string, at::Tensor> gradients(const Bert& model) {
  std::map<std::string, at::Tensor> result;
  for (const auto& [name, parameter] : model.parameters()) {
    const std::size_t at = name.find(".qkv.");
    if (at == std::string::npos) {
      result[name] = parameter.grad();
      continue;
    }
    const std::int64_t part = parameter.size(0) / 3;
    int index = 0;
    for (const char* word : {".query.", ".key.", ".value."}) {
      std::string other = name;
      result[other.replace(at, 5, word)] =
          parameter.grad().slice(0, index * part, (index + 1) * part);
      ++index;
    }
  }
  return result;
}

// Compares every gradient of the model with `expected`, "grad.<name>".
inline void expect_gradients(const Bert& model, const std::map<std::string, at::Tensor>& expected) {
  const auto computed = gradients(model);
  std::size_t compared = 0;
  for (const auto& [name, right] : expected) {
    if (!name.starts_with("grad.")) continue;
    const at::Tensor& gradient = computed.at(name.substr(5));
    ASSERT_TRUE(gradient.defined()) << name;
    EXPECT_TRUE(at::allclose(gradient, right, 1e-4, 2e-6))
        << name << " differs by " << (gradient - right).abs().max().item<float>();
    ++compared;
  }
  EXPECT_EQ(compared, computed.size());
}

}  // namespace bp::trainer
