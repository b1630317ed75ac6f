// What a checkpoint knows besides weights and moments: state.json, all that a run needs to go on as
// if it had never ended.
//
// There is no state of a random generator in it, because there is none: first weights depend on
// (seed, name, place), the order of rows on (seed, epoch, position), dropout on (seed, step, place,
// sample). No window is ever open either: a checkpoint lies between two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/sampler.h"
#include "trainer/report/metrics.h"
#include "trainer/report/report.h"

namespace bp::trainer {

// What decides an order of summation, and so the last digits, as (what, value): "threads", "1,1".
using Summation = std::vector<std::pair<std::string, std::string>>;

// Of a run from its first step on, whatever ranks it had.
struct RunTotals {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  double seconds = 0;  // in training steps
  double seconds_exposed = 0;
  std::int64_t gradient_bytes = 0;
  double loss = 0;           // of the last logged step
  std::int64_t skipped = 0;  // steps that made no update, because their gradient overflowed
};

struct BestResult {
  std::int64_t step = 0;
  EvaluationSummary dev;
};

struct CheckpointState {
  std::int64_t step = 0;              // steps done, skipped ones included
  std::int64_t skipped_in_a_row = 0;  // of the last steps
  EpochPosition position = {};
  std::int64_t rows = 0;                        // of an epoch
  double nominal_weight = 0;                    // DistributedOptimizer's
  std::vector<std::int64_t> bucket_order = {};  // likewise
  bool evaluation_due = false;                  // after this step, but a request to stop came first
  std::optional<EvaluationSummary> dev = {};    // the last one
  std::vector<BestResult> best = {};            // that have a checkpoint; the best one first
  RunTotals totals = {};
  std::string store = {};  // SampleStore::identity()
  std::string hosts = {};  // "localhost,127.0.0.1": for a person
  Summation summation = {};
  std::vector<Setting> options = {};  // effective; without origins
};

[[nodiscard]] std::string to_json(const CheckpointState& state);
// Throws invalid_argument saying what is wrong, without naming the file.
[[nodiscard]] CheckpointState parse_state(const std::string& json);

[[nodiscard]] std::vector<std::int64_t> steps_of(const std::vector<BestResult>& best);

// More right answers, or as many with a lower loss.
[[nodiscard]] bool better(const EvaluationSummary& a, const EvaluationSummary& b);
// Gives it its place among the `most` best, behind those that are as good.
void rank_result(std::vector<BestResult>& best, const BestResult& result, int most);

}  // namespace bp::trainer
