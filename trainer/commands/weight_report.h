// What is told of a model's weights: which file has them, and what it lacks.
#pragma once

#include <string>
#include <vector>

#include "bp/error.h"
#include "trainer/data/input_error.h"
#include "trainer/model/weights.h"

namespace bp::trainer {

inline const std::string kModelFolderHint =
    "a Hugging Face folder has config.json, and vocab.txt and model.safetensors (or "
    "pytorch_model.bin) to start from weights";

// Throws 66 for a file that cannot be read, and 65 for wrong content.
template <class Body>
auto as_input_error(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    const bool unreadable = error.code() == ErrorCode::io;
    throw InputError(unreadable ? 66 : 65, error.what(), unreadable ? kModelFolderHint : "");
  }
}

// Returns "2 weights: classifier.bias, classifier.weight", or the first ones.
[[nodiscard]] std::string list_of_weights(const std::vector<std::string>& names);

// Throws InputError (65) if a weight is missing whose name begins with none of `replaceable`, or
// has another shape.
void require_weights(const LoadReport& report,
                     const std::string& path,
                     const std::vector<std::string>& replaceable);

// Returns the folder's file with the weights, or "". Throws InputError (65) for weights in a format
// that bp does not read.
[[nodiscard]] std::string find_weights(const std::string& folder);

}  // namespace bp::trainer
