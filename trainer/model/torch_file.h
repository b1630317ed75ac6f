// A pytorch_model.bin: a zip of one pickle, NAME/data.pkl, and of the bytes of each storage,
// NAME/data/0, NAME/data/1, ... No LibTorch here.
#pragma once

#include "trainer/model/tensor_file.h"

namespace bp::trainer {

// Throws invalid_argument (the text does not name the file) or io.
[[nodiscard]] std::unique_ptr<TensorFile> open_torch_file(std::unique_ptr<ByteSource> source);

}  // namespace bp::trainer
