// A pytorch_model.bin is a zip of one pickle, NAME/data.pkl, and the bytes of each storage,
// NAME/data/0, NAME/data/1, ... Does not use LibTorch.
#pragma once

#include <memory>

#include "trainer/model/files/tensor_file.h"

namespace bp::trainer {

// Opens the file. Throws invalid_argument (the error does not name the file) or io.
[[nodiscard]] std::unique_ptr<TensorFile> open_torch_file(std::unique_ptr<ByteSource> source);

}  // namespace bp::trainer
