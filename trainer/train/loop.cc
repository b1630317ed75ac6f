#include "trainer/train/loop.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/train/adamw.h"
#include "trainer/train/batches.h"
#include "trainer/train/schedule.h"
#include "trainer/train/stop.h"
#include "trainer/train/trace.h"

namespace bp::trainer {
namespace {

using Clock = std::chrono::steady_clock;

// Weight decay pulls at matrices only, not at biases and norms, as BERT was trained.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Bert& model, const Options& options) {
  DecayGroup decayed{{}, options.weight_decay};
  DecayGroup others{{}, 0};
  for (const auto& [name, parameter] : model.parameters()) {
    const bool excepted = name.ends_with(".bias") || name.find("LayerNorm") != std::string::npos;
    (excepted ? others : decayed).parameters.push_back(parameter);
  }
  AdamWOptions adamw;
  adamw.eps = options.epsilon;
  return make_fused_adamw({std::move(decayed), std::move(others)}, adamw);
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

// Forward and backward of this rank's share of the step. Filler has no rows and weight 0.
void accumulate(DistributedOptimizer& optimizer,
                const Bert& model,
                const StepBatches& batches,
                const Bert::Step& step) {
  for (const Batch& batch : batches.micro_batches) {
    if (batch.rows == 0) {
      optimizer.backward(at::zeros({}), 0);
    } else {
      optimizer.backward(classification_loss(model.forward(batch, &step), batch), batch.rows);
    }
  }
}

void check_finite(double value, const char* what, std::int64_t step) {
  if (std::isfinite(value)) return;
  throw InputError(70, concat("the ", what, " at step ", step + 1, " is ", value),
                   "try a lower --lr, a longer --warmup, or --precision fp32");
}

}  // namespace

std::int64_t total_steps(const Options& options, std::int64_t steps_per_epoch) {
  return options.steps > 0 ? options.steps : options.epochs * steps_per_epoch;
}

TrainResult train(Communicator& world, const Options& options, const TrainJob& job, Bert& model) {
  // What is to be done.
  const SamplerOptions sampling{job.rows, options.seed, world.size(), options.batch,
                                options.accumulate};
  const std::int64_t per_epoch = Sampler(sampling).steps_per_epoch();
  const std::int64_t steps = total_steps(options, per_epoch);
  const auto warmup = static_cast<std::int64_t>(options.warmup * static_cast<double>(steps));
  const Schedule schedule{job.lr, steps, warmup};
  const std::int64_t evaluate_every = options.eval_every > 0 ? options.eval_every : per_epoch;

  // Who does it.
  Batches data({job.store, sampling, world.rank(), steps});
  DistributedOptimizer optimizer(world, model.parameters(), make_optimizer(model, options),
                                 {.micro_batches = options.accumulate});
  optimizer.broadcast_parameters();
  model.parameters_changed();
  TrainLog log(job.metrics, steps);
  Trace trace(options.trace, world.rank());
  const StopSignal stop;

  TrainResult result;
  for (std::int64_t step = 0; step < steps && !result.stopped; ++step) {
    const auto begin = Clock::now();
    const StepBatches batches = data.next();
    const auto fed = Clock::now();

    if (stop.requested(world.store())) optimizer.request_stop();
    const double lr = learning_rate(schedule, step);
    set_learning_rate(optimizer.optimizer(), lr);
    const std::uint64_t bytes = world.counters().bytes;
    accumulate(optimizer, model, batches, {options.seed, static_cast<std::uint64_t>(step)});

    const auto computed = Clock::now();
    optimizer.reduce();
    const auto reduced = Clock::now();
    result.gradient_bytes += static_cast<std::int64_t>(world.counters().bytes - bytes);

    const DistributedOptimizer::Window window = optimizer.window();
    check_finite(window.loss, "loss", step);
    const double norm = optimizer.clip_grad_norm(
        options.clip > 0 ? options.clip : std::numeric_limits<double>::infinity());
    check_finite(norm, "norm of the gradient", step);
    optimizer.step();
    model.parameters_changed();

    result.stopped = window.stop;
    result.steps = step + 1;
    result.epochs = static_cast<double>(step + 1) / static_cast<double>(per_epoch);
    log.step({static_cast<std::int64_t>(std::llround(window.weight)), batches.world_tokens,
              result.epochs, window.loss, lr, norm, fed - begin, reduced - computed,
              Clock::now() - begin});
    trace.write(batches, window.loss, model);
    const bool due = step + 1 == steps || (step + 1) % evaluate_every == 0;
    if (due && !result.stopped) job.evaluate(log);
  }
  log.finish();
  result.summary = log.summary();
  result.seconds_exposed = log.seconds_exposed();
  return result;
}

}  // namespace bp::trainer
