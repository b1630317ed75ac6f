// Reads weights by name from either kind of file, model.safetensors or pytorch_model.bin, or from
// several that an index names (sharded_file.h). No LibTorch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/model/files/byte_source.h"

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
  // Reads all elements of tensors()[index], row-major, to `to`, which must have room for them.
  // Throws io.
  virtual void read(std::size_t index, void* to) const = 0;
};

// Opens a file and recognizes the format by its first bytes. Throws io if it cannot be read, or
// invalid_argument if it is broken or in neither format, naming `path`.
[[nodiscard]] std::unique_ptr<TensorFile> open_tensor_file(const std::string& path);

// For tests; errors name the source `name`.
[[nodiscard]] std::unique_ptr<TensorFile> open_tensor_file(std::unique_ptr<ByteSource> source,
                                                           const std::string& name);

}  // namespace bp::trainer
