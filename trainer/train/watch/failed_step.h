// RUN/bug/step-N: a step that failed, with all that it computed from, so that another process can
// compute it again. Does not use LibTorch.
//
//   step.json            the batches of all ranks, and what decides the numbers that the step draws
//   config.yaml          the options of the run
//   config.json          the model's configuration; adapter_config.json if it has adapters
//   weights.safetensors  all parameters, under bp's names, as they were before the step
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/batches/batch.h"

namespace bp::trainer {

inline constexpr const char* kFailedWeightsFile = "weights.safetensors";

struct FailedRank {
  int rank = 0;
  std::string host = {};
  std::vector<Batch> batches = {};  // those with rows
};

struct FailedStepFile {
  std::int64_t step = 0;  // of the run, from 1
  std::string what = {};  // "the loss at step 5 is nan"
  std::uint64_t seed = 0;
  int recomputed_layers = 0;
  double loss_scale = 1;
  double nominal_weight = 1;             // that weights of batches are divided by
  std::vector<std::string> frozen = {};  // parameters that are not trained
  std::vector<FailedRank> ranks = {};
};

// JSON of one rank's part. read_failed_rank() throws Json::exception, or Error (invalid_argument).
[[nodiscard]] std::string to_json(const FailedRank& rank);
[[nodiscard]] FailedRank read_failed_rank(const std::string& json);

[[nodiscard]] std::string to_json(const FailedStepFile& step);
// Reads step.json of the folder. Throws InputError: 66 if there is none, 65 if it is damaged.
[[nodiscard]] FailedStepFile read_failed_step(const std::string& folder);

}  // namespace bp::trainer
