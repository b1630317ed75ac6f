// What a user can do when memory does not suffice.
#pragma once

#include <exception>

#include "trainer/options/options.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

// Whether that is what `error` says: std::bad_alloc, or LibTorch's own words.
[[nodiscard]] bool means_out_of_memory(const std::exception& error);

// Throws InputError (70) with the shape of the largest of `batches` and a smaller one to try.
[[noreturn]] void throw_out_of_memory(const StepBatches& batches, const Options& options);

// Calls `work`, which computes `batches`.
template <class Work>
void advise_on_memory(const StepBatches& batches, const Options& options, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (means_out_of_memory(error)) throw_out_of_memory(batches, options);
    throw;
  }
}

}  // namespace bp::trainer
