// Advice for a user whose machine has too little memory.
#pragma once

#include <exception>

#include "comm/torch/memory_refusal.h"
#include "trainer/options/options.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

// Throws InputError (70) with the shape of the largest of `batches` and a smaller shape to try.
[[noreturn]] void throw_out_of_memory(const StepBatches& batches, const TrainOptions& options);

// Calls `work`, which computes `batches`. Throws as throw_out_of_memory() if memory runs out, and
// otherwise what `work` throws.
template <class Work>
void advise_on_memory(const StepBatches& batches, const TrainOptions& options, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (may_mean_out_of_memory(error)) throw_out_of_memory(batches, options);
    throw;
  }
}

}  // namespace bp::trainer
