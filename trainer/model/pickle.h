// The pickle in a pytorch_model.bin, as far as torch.save writes it for a state_dict: a dictionary
// of tensors, each a view of a storage that lies elsewhere in the file. No LibTorch here.
//
// Nothing is ever executed. A pickle is a program for a small stack machine that may name any
// function of Python; here eight kinds of value exist, three functions and ten types of storage are
// known by name, and anything else is refused, naming it and its place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

// A view of a storage: element (i, j, ...) lies at offset + i * strides[0] + j * strides[1] + ...
struct PickledTensor {
  std::string name;
  std::string type;  // as safetensors names it: "F32", "BF16", "I64", ...
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  std::int64_t offset = 0;            // in elements
  std::string storage;                // the name of its storage
  std::int64_t storage_elements = 0;

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] bool contiguous() const;
  // One beyond the last element of the storage that it reaches.
  [[nodiscard]] std::int64_t end() const;
};

// The tensors in the order in which they were saved; every one of them lies inside of its storage.
// Throws invalid_argument, naming the tensor or the byte of the pickle, not the file.
[[nodiscard]] std::vector<PickledTensor> parse_state_dict(const std::string& pickle);

}  // namespace bp::trainer
