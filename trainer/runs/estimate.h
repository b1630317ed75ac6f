// Estimates a run from a few of its steps: parameters, memory, time and disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bp/torch/shard.h"
#include "trainer/report/metrics.h"
#include "trainer/report/parameter_table.h"
#include "trainer/report/shard_costs.h"
#include "trainer/runs/scaling.h"

namespace bp::trainer {

struct Estimate {
  std::string model;  // "tiny (2 layers, hidden 128)"
  std::vector<ModelPart> parts = {};

  // Of the rank that needs most, in bytes.
  std::uint64_t peak = 0;  // measured: all memory of the process
  RankMemory memory = {};

  Shard shard = Shard::none;           // what the ranks divided in the measured steps
  std::vector<ShardCost> shards = {};  // what they could divide; empty: nothing

  MeasuredWorld world = {};   // a step, measured
  std::int64_t measured = 0;  // number of steps that were
  std::int64_t epoch_steps = 0;
  std::int64_t steps = 0;  // of the whole run

  std::uint64_t checkpoint = 0;  // bytes of one
  std::int64_t checkpoints = 0;  // how many there are at most, one that is being written included
};

// Returns the mean step of these records after the first `warm_up` steps.
[[nodiscard]] MeasuredWorld mean_step(const Metrics& metrics, std::int64_t warm_up);

// Sorts the parts by size, and makes one part of layers with the same numbers and rate.
[[nodiscard]] std::vector<ModelPart> joined_layers(const std::vector<ModelPart>& parts);

// Returns a table of the parts and their sum, for a terminal.
[[nodiscard]] std::string parts_text(const std::vector<ModelPart>& parts);

// Returns the lines for a terminal.
[[nodiscard]] std::string estimate_text(const Estimate& estimate);
// Returns indented JSON with the same figures in bytes and seconds.
[[nodiscard]] std::string to_json(const Estimate& estimate);
// Reads the measured step from what to_json() wrote. Throws Error (invalid_argument) or
// Json::exception.
[[nodiscard]] MeasuredWorld parse_measured_world(const std::string& text);

}  // namespace bp::trainer
