// The pickle in a pytorch_model.bin, as torch.save writes it for a state_dict: a dictionary of
// tensors, each a view of a storage elsewhere in the file. Does not use LibTorch.
//
// Nothing is ever executed. A pickle is a program for a small stack machine that may name any
// function of Python. This reader has nine kinds of value, knows three functions and ten types of
// storage by name, and refuses anything else, naming it and its position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

// A view of a storage: element (i, j, ...) is at index offset + i * strides[0] + j * strides[1] +
// ...
struct PickledTensor {
  std::string name;
  std::string type;  // safetensors' name: "F32", "BF16", "I64", ...
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements
  std::int64_t offset = 0;            // in elements
  std::string storage;                // the name of its storage
  std::int64_t storage_elements = 0;

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] bool contiguous() const;
  // Returns the index after the last element of the storage that the view uses.
  [[nodiscard]] std::int64_t end() const;
};

// Returns the tensors in the order in which they were saved; each lies inside its storage. Throws
// invalid_argument, naming the tensor or the byte of the pickle, not the file.
[[nodiscard]] std::vector<PickledTensor> parse_state_dict(const std::string& pickle);

}  // namespace bp::trainer
