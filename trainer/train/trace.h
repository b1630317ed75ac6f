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
  // An empty folder: nothing is written. Throws io.
  Trace(const std::string& folder, int rank);

  void write(const StepBatches& step, double loss, const Bert& model);

 private:
  std::string path_;
  std::ofstream out_;
};

}  // namespace bp::trainer
