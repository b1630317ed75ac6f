// A record of each step of one rank, for tests and for debugging. --trace FOLDER writes
// FOLDER/rank-N.jsonl with one line per step:
//
//   {"step":1,"samples":[[12,7],[3]],"rows":[3,5],"loss":0.693147182,"parameters":"9f0c..."}
//
// `samples` are the sample ids of each micro-batch, `rows` is how many each rank has in this step,
// `loss` is the mean over all ranks, and `parameters` is a hash of all parameters after the step.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "trainer/model/bert.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

class StepTrace {
 public:
  struct Rank {
    int rank = 0;
    int size = 1;  // of the world
  };
  // Writes nothing if `folder` is empty. Appends after `resumed_step`: the constructor removes the
  // lines of later steps. On rank 0 it does so also in files of ranks that this world does not
  // have. Throws io.
  StepTrace(const std::string& folder, const Rank& rank, std::int64_t resumed_step);

  // Appends the line of one step. Throws io.
  void write(const StepBatches& step, double loss, const Bert& model);

 private:
  std::string path_;
  std::ofstream out_;
};

}  // namespace bp::trainer
