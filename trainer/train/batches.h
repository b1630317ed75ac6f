// The micro-batches of this rank, step by step, made ahead of time on a thread of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/batch.h"
#include "trainer/data/sampler.h"

namespace bp::trainer {

// What one rank does in one step.
struct StepBatches {
  std::int64_t step = 0;             // of the run, from 0
  std::vector<Batch> micro_batches;  // as many on all ranks; empty ones have no rows
  std::int64_t world_tokens = 0;     // of all ranks' samples in this step, without padding
};

struct BatchesOptions {
  std::string store;  // its path: the thread reads by a connection of its own
  SamplerOptions sampler;
  int rank = 0;
  std::int64_t first_step = 0;  // of the run, from 0
  EpochPosition position = {};  // where it begins
  std::int64_t steps = 0;       // to make from there; they go on into further epochs
};

// Threads: one consumer. The destructor ends the thread.
class Batches {
 public:
  explicit Batches(const BatchesOptions& options);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // Steps first_step, first_step + 1, ... in order; waits for the thread. Throws what the thread
  // met. Not to be called more than `steps` times.
  [[nodiscard]] StepBatches next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer
