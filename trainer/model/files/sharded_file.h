// Weights in several files, which an index names: model.safetensors.index.json, or
// pytorch_model.bin.index.json. Does not use LibTorch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/model/files/tensor_file.h"

namespace bp::trainer {

[[nodiscard]] bool is_weight_index(const std::string& path);

// Returns the files in which the weights at `path` are: those that an index names, each once and
// sorted, or `path` itself. Throws what open_tensor_file() throws.
[[nodiscard]] std::vector<std::string> files_of_weights(const std::string& path);

// Opens all files that the index names. Throws io if one cannot be read, or invalid_argument if one
// is broken or lacks a tensor that the index says it has, naming the file.
[[nodiscard]] std::unique_ptr<TensorFile> open_sharded_file(const std::string& path);

}  // namespace bp::trainer
