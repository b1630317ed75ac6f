#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/collective.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/commands/run_precision.h"
#include "trainer/common/stop_signals.h"
#include "trainer/common/text_list.h"
#include "trainer/common/whole_file.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/model/passes/precision.h"
#include "trainer/optim/schedule.h"
#include "trainer/report/metrics.h"
#include "trainer/report/shard_costs.h"
#include "trainer/runs/estimate.h"
#include "trainer/share/shared_data.h"
#include "trainer/share/temporary_folder.h"
#include "trainer/tasks/inputs.h"
#include "trainer/train/loop/loop.h"
#include "trainer/train/loop/shard_shares.h"
#include "trainer/train/loop/training_state.h"
#include "trainer/train/methods/freeze.h"

namespace bp::trainer {
namespace {

// Returns the most memory that this process has had, in bytes.
std::uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kPeak = "VmHWM:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kPeak)) return std::stoull(line.substr(kPeak.size())) * 1024;
  }
  return 0;
}

std::uint64_t most_of_ranks(Communicator& world, std::uint64_t value) {
  auto most = static_cast<std::int64_t>(value);
  all_reduce(world, view(std::span(&most, 1)), {.op = ReduceOp::max, .name = "memory of ranks"});
  return static_cast<std::uint64_t>(most);
}

// Trains for a few steps, of which nothing stays, and puts what was measured into `estimate`.
// Returns what the ranks divided; nothing if it was asked to stop.
std::optional<Shard> measure(Communicator& world,
                             int measured_steps,
                             const RunSettings& settings,
                             const TrainJob& planned,
                             Bert& model,
                             Estimate& estimate) {
  std::optional<TemporaryFolder> folder;
  TrainJob job = planned;
  if (world.rank() == 0) {
    folder.emplace();
    job.metrics = folder->path() + "/metrics.jsonl";
  }
  const std::int64_t warm_up = measured_steps / 4 + 1;
  RunSettings few = settings;
  few.steps = measured_steps + warm_up;
  few.save_every = {};
  few.early_stop = {};
  few.eval_first = false;
  few.run.clear();  // a step that fails leaves no file
  const TrainResult result = train(world, few, job, model);
  if (result.stopped) return std::nullopt;
  estimate.measured = measured_steps;
  estimate.peak = most_of_ranks(world, peak_memory());
  if (world.rank() != 0) return result.shard;
  estimate.world = mean_step(read_metrics(job.metrics), warm_up);
  estimate.world.name = list_of(world.topology().local_sizes, "+");
  estimate.world.ranks = world.size();
  return result.shard;
}

// `used`: what the ranks divided in the measured steps.
void add_memory(const RunSettings& settings,
                const TrainingState& state,
                Shard used,
                Estimate& estimate) {
  estimate.shard = used;
  estimate.memory = memory_of_rank(state, used);
  const int ranks = estimate.world.ranks;
  const bool can_divide = used != Shard::none || settings.shard == Shard::none ||
                          state.hosts.size() == static_cast<std::size_t>(ranks);
  if (ranks > 1 && settings.rank_device.gpu < 0 && can_divide) estimate.shards = shard_costs(state);
}

// What follows from the model and the options alone.
Estimate planned(const EstimateOptions& options,
                 const ModelSource& source,
                 const Bert& model,
                 const TrainingState& state) {
  const EncoderSpec& config = model.config();
  Estimate estimate{.model = concat(source.name, " (", config.layers, " layers, hidden ",
                                    config.hidden, ", ", config.vocabulary, " words)"),
                    .parts = parts_of(model, options)};
  if (!options.parameter_table) estimate.parts = joined_layers(estimate.parts);
  if (options.save_every.empty()) return estimate;
  estimate.checkpoint =
      state.kept() + (options.optimizer_state ? state.moments * state.trained() : 0);
  estimate.checkpoints = 1 + options.keep + options.keep_best;
  return estimate;
}

}  // namespace

int run_command(Communicator& world, const EstimateOptions& options) {
  RunSettings settings{static_cast<const TrainOptions&>(options),
                       choose_device(world, options.device)};
  const bool writes = world.rank() == 0;
  const Say say = say_on_rank_0(world);
  if (writes) require_writable(options.out);
  const ModelSource source =
      find_model(options.model, *options.task, options.extensions, options.family);
  JobData data = job_data(world, options);
  prepare_for(source, data);
  TrainJob job;
  job.store = prepare_everywhere(world, data, say);
  SampleStore store = SampleStore::open(job.store);
  if (options.overfit > 0) store.limit(Split::train, options.overfit);
  settings.precision = precision_of_evaluation(world, options.precision, settings.rank_device);
  const auto model = make_model(source, settings, store, say, writes);
  choose_gradients(*model, options.freeze);
  if (options.lr.first() == 0) {
    settings.lr = default_learning_rate(model->config().hidden, source.pretrained());
  }
  if (options.epochs == 0) settings.epochs = default_epochs(source.pretrained());
  if (options.loss_scale == 0) settings.loss_scale = default_loss_scale(settings.precision);
  divide_total_batch(settings, world.size());
  job.rows = store.size(Split::train);
  if (needs_lengths(options)) {
    job.lengths = std::make_shared<std::vector<std::int32_t>>(store.lengths(Split::train));
  }
  job.lr = settings.lr;
  job.main_score = choose_metric(source.task->metrics(), options.best_metric, options.task_name);
  job.regularization = source.task->regularization();
  job.evaluate = [] { return DevScores{}; };

  TrainingState state = training_state(settings, *model);
  state.hosts = shard_hosts(world.topology(),
                            shard_shares(world, settings.shard_shares, settings.shard, state));
  Estimate estimate = planned(options, source, *model, state);
  const std::optional<Shard> used =
      measure(world, options.measured_steps, settings, job, *model, estimate);
  if (!used) {
    say("stopped on request; nothing was written");
    return stop_exit_code();
  }
  const RowSampler sampler(sampling(options, job.rows, world.size(), job.lengths));
  estimate.epoch_steps = sampler.steps_per_epoch();
  estimate.steps = total_steps(settings, sampler, 0, {});
  if (!writes) return 0;
  add_memory(settings, state, *used, estimate);
  print_line(estimate_text(estimate));
  if (!options.out.empty()) write_whole_file(options.out, to_json(estimate));
  return 0;
}

}  // namespace bp::trainer
