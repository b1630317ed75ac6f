// state.json: what a checkpoint holds besides weights and moments. With it a resumed run computes
// the same as a run that was never interrupted.
//
// It holds no state of a random generator, because bp has none: first weights depend on (seed,
// name, index), the order of rows on (seed, epoch, position), dropout on (seed, step, index,
// sample). Nor does it hold an unfinished window of gradients: a checkpoint is made between two
// steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/options/setting.h"
#include "trainer/batches/row_sampler.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/report/figures.h"

namespace bp::trainer {

// What decides the order of summations, and so the last digits, as (what, value): "machines", "2 x
// 1 thread, AVX512".
using Summation = std::vector<std::pair<std::string, std::string>>;

// Sums over a run from its first step on, whatever numbers of ranks it had.
struct RunTotals {
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  double seconds = 0;  // in training steps
  double seconds_exposed = 0;
  std::int64_t gradient_bytes = 0;
  double loss = 0;                 // of the last logged step
  std::int64_t skipped = 0;        // steps that made no update, because their gradient overflowed
  std::int64_t split_batches = 0;  // that were computed in pieces, for want of memory
  std::vector<EpochFigures> figures = {};  // that steps reported
};

struct BestResult {
  std::int64_t step = 0;
  EvaluationSummary dev;
};

// Since when the evaluations of dev have not improved. See EarlyStop (trainer/train).
struct Improvement {
  std::optional<double> best = {};  // the score to improve; none: no evaluation had one
  std::optional<double> last = {};  // the last evaluation's; none: it had none
  std::int64_t without = 0;         // evaluations in a row that did not improve it
};

struct CheckpointState {
  std::int64_t step = 0;              // steps done, skipped ones included
  std::int64_t skipped_in_a_row = 0;  // of the last steps
  EpochPosition position = {};
  std::int64_t schedule_step = 0;        // where the schedule of the rate begins: at the beginning
  EpochPosition schedule_position = {};  // of the run, or where --reset-schedule began it again
  std::int64_t rows = 0;                 // of an epoch
  double nominal_weight = 0;             // DistributedOptimizer's, as the next three
  double loss_scale = 0;                 // 0: the run has none
  std::int64_t good_windows = 0;
  std::vector<std::int64_t> bucket_order = {};
  std::int64_t steps_of_round = 0;     // with --sync TIME; also DistributedOptimizer's
  std::vector<RowShares> shares = {};  // of ranks in rows, of this step and later ones
  bool evaluation_due = false;         // an evaluation was due, but a request to stop came first
  std::optional<EvaluationSummary> dev = {};  // of the last evaluation
  std::vector<BestResult> best = {};          // those with a checkpoint, the best one first
  std::int64_t averaged = 0;                  // updates in the averaged weights; 0: there are none
  bool optimizer_state = true;                // the checkpoint has it
  Improvement improvement = {};
  double elapsed = 0;  // seconds; see TimeLimit (trainer/train)
  RunTotals totals = {};
  std::string store = {};  // SampleStore::identity()
  std::string hosts = {};  // "localhost,127.0.0.1": for a person
  Summation summation = {};
  std::vector<Setting> options = {};  // effective; without origins
};

[[nodiscard]] std::string to_json(const CheckpointState& state);
// Throws invalid_argument that says what is wrong and does not name the file.
[[nodiscard]] CheckpointState parse_state(const std::string& json);

[[nodiscard]] std::vector<std::int64_t> steps_of(const std::vector<BestResult>& best);

// Inserts `result` behind the results that are as good, and keeps the `most` best ones.
void rank_result(std::vector<BestResult>& best,
                 const BestResult& result,
                 const MainScore& main,
                 int most);
// Ranks the results by another score.
void rank_again(std::vector<BestResult>& best, const MainScore& main);

}  // namespace bp::trainer
