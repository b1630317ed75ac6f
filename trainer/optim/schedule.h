// The learning rate of each optimizer step, the rows in it, and the number of steps. Pure
// arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/batches/per_epoch.h"
#include "trainer/batches/row_sampler.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Whether sampling() needs the lengths of the rows.
[[nodiscard]] inline bool needs_lengths(const TrainOptions& options) {
  return options.max_tokens > 0 || options.curriculum > 0 || options.group_lengths > 0;
}

// Decides `batch` with --batch auto, and `accumulate` with a total batch, for so many ranks.
void divide_total_batch(TrainOptions& options, int ranks);
// Returns how a run cuts its rows into steps. `lengths` of the rows may be null unless
// needs_lengths().
[[nodiscard]] RowSamplerOptions sampling(const TrainOptions& options,
                                         std::int64_t rows,
                                         int ranks,
                                         Lengths lengths);

// Of bert_train, and of the program that extends it. The first is the default of --schedule.
[[nodiscard]] std::vector<std::string> schedule_names(const Extensions& extensions);

// A place after the warm-up. A step may be a fraction.
struct AfterWarmup {
  double left = 1;    // share of the steps after the warm-up that is not done
  double done = 0;    // steps after the warm-up that are done
  double warmup = 0;  // steps of the warm-up
  double peak = 0;    // the highest rate in this epoch
};

struct Schedule {
  PerEpoch<double> peak = 0.0;
  std::int64_t steps = 0;         // in which the rate falls: those of the run, or more
  std::int64_t warmup_steps = 0;  // rising to `peak`
  // Returns the rate as a share of `peak`.
  std::function<double(const AfterWarmup&)> share = [](const AfterWarmup& at) { return at.left; };
};

// Returns how many spans of `every` epochs a run has done where the next step begins at `position`
// of an epoch of `rows` rows.
[[nodiscard]] std::int64_t spans_done(double every,
                                      const EpochPosition& position,
                                      std::int64_t rows);

// Throws InputError (2) for an option that the schedule lacks, and for an --end-lr above --lr.
void check_schedule_options(const TrainOptions& options);

// A place in a run: the number of steps done, and where the next one begins.
struct RunPlace {
  std::int64_t step = 0;
  EpochPosition position = {};
};

// Returns the steps of a run from `from` on: those of settings.steps, or of settings.epochs epochs
// as this `sampler` cuts them, even if another number of ranks made the earlier ones.
[[nodiscard]] std::int64_t steps_left(const RunSettings& settings,
                                      const RowSampler& sampler,
                                      const RunPlace& from);

// Returns the schedule of a whole run whose highest rate is `peak`, of settings.schedule_length, or
// of steps_left(). With `from` it begins there. A warm-up, a length and a --decay-every in epochs
// are counted from there, and end with the step that uses their last row. Throws InputError (2) for
// a length that is shorter than the run.
[[nodiscard]] Schedule make_schedule(const RunSettings& settings,
                                     const RowSampler& sampler,
                                     const PerEpoch<double>& peak,
                                     const RunPlace& from = {});

// Returns the optimizer steps of the whole run: settings.steps, or those up to the end of the last
// epoch when `step` of them are done and the next one begins at `position`.
[[nodiscard]] std::int64_t total_steps(const RunSettings& settings,
                                       const RowSampler& sampler,
                                       std::int64_t step,
                                       const EpochPosition& position);

// Returns the rate of `step` (0 .. steps-1), which lies in `epoch`; `peak` is that of the epoch. It
// rises as peak * (step + 1) / (warmup + 1), and is `peak` at the first step after the warm-up.
// From there, with the share `left` of the steps:
//   linear       end + (peak - end) left; so without an end the last step has peak / (steps -
//                warmup)
//   cosine       end + (peak - end) (1 - cos(pi left)) / 2 (Loshchilov and Hutter 2017, without
//                restarts)
//   constant     peak
//   polynomial   end + (peak - end) left^power, as in BERT (TensorFlow's polynomial_decay)
//   step         peak factor^floor(steps done after the warm-up / N), as torch's StepLR; with a
//                --decay-every in epochs, the exponent counts the multiples of these that the run
//                has reached after the warm-up
//   inverse-sqrt peak sqrt((warmup + 1) / (step + 1)) (Vaswani et al. 2017; fairseq)
//   cyclic       falls in a line from peak to end in half a cycle and rises in the other half, as
//                torch's CyclicLR (Smith 2017) from the middle of a cycle on
// `step` may be a fraction: a run that resumes with another number of ranks is between two steps.
[[nodiscard]] double learning_rate(const Schedule& schedule, double step, std::int64_t epoch = 0);

// Returns a highest rate that trains well: from scratch 0.128 / hidden (1e-3 for tiny, 1.7e-4 for
// base), from pre-trained weights 5e-5, or 1e-4 for narrow models (hidden below 512).
[[nodiscard]] double default_learning_rate(int hidden, bool pretrained);

// Returns the number of epochs that usually suffices: 10 from scratch, 3 from weights.
[[nodiscard]] int default_epochs(bool pretrained);

}  // namespace bp::trainer
