// Weights by name, whatever file they lie in: model.safetensors or pytorch_model.bin. No LibTorch
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/model/byte_source.h"

namespace bp::trainer {

struct StoredTensor {
  std::string name;
  std::string type;                 // "F32", "F16", "BF16", "I64", ...: see element_bytes()
  std::vector<std::int64_t> shape;  // empty: a scalar
};

class TensorFile {
 public:
  virtual ~TensorFile() = default;
  [[nodiscard]] virtual const std::vector<StoredTensor>& tensors() const = 0;
  // All elements of tensors()[index], row-major, to `to`, which has room for them. Throws io.
  virtual void read(std::size_t index, void* to) const = 0;
};

// Tells the format by the first bytes. Throws io (can't be read) or invalid_argument (broken, or
// not of these two formats), naming `path`.
[[nodiscard]] std::unique_ptr<TensorFile> open_tensor_file(const std::string& path);

// For tests: errors call it `name`.
[[nodiscard]] std::unique_ptr<TensorFile> open_tensor_file(std::unique_ptr<ByteSource> source,
                                                           const std::string& name);

}  // namespace bp::trainer
