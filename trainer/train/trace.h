// What one rank did at each step, for tests and for debugging: --trace FOLDER writes
// FOLDER/rank-N.jsonl, a line a step:
//
//   {"step":1,"samples":[[12,7],[3]],"loss":0.693147182,"parameters":"9f0c..."}
//
// `samples` are the ids of each micro-batch, `loss` the mean over all ranks, `parameters` a hash of
// all parameters after the step.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "trainer/model/bert.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

class Trace {
 public:
  struct Rank {
    int rank = 0;
    int size = 1;  // of the world
  };
  // An empty folder: nothing is written. Goes on after `resumed_step`: lines of later steps are
  // dropped, by rank 0 also from files of ranks that are no more. Throws io.
  Trace(const std::string& folder, const Rank& who, std::int64_t resumed_step);

  void write(const StepBatches& step, double loss, const Bert& model);

 private:
  std::string path_;
  std::ofstream out_;
};

}  // namespace bp::trainer
