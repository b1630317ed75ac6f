// Whether an error means that there is too little memory.
#pragma once

#include <exception>

namespace bp {

// Returns whether `error` only tells that another rank has failed.
[[nodiscard]] bool is_of_another_rank(const std::exception& error);

// Returns whether `error` means that this rank has too little memory: std::bad_alloc, or LibTorch's
// own texts.
[[nodiscard]] bool means_out_of_memory(const std::exception& error);
// Also returns true for what oneDNN says if it has no memory for the code of a product, among other
// reasons.
[[nodiscard]] bool may_mean_out_of_memory(const std::exception& error);

}  // namespace bp
