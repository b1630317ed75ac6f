// Initial weights of the head "segment" from a pretrained model.
#pragma once

#include <string>

#include "trainer/model/bert.h"

namespace bp::trainer {

// A pretrained model has embeddings of two token types, and the head "segment" needs four, with
// another meaning. Sets the embedding of type 0, that of tokens that are no mention, to the one in
// the file of weights (model.safetensors or pytorch_model.bin), and leaves the others as they were
// drawn. Calls parameters_changed(). Returns false if the file has no such embedding for this
// hidden size. Throws io or invalid_argument, naming the file, if it is broken or the embedding is
// of a type other than F32, F16 and BF16.
[[nodiscard]] bool take_first_token_type(Bert& model, const std::string& path);

}  // namespace bp::trainer
