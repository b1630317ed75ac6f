// Longer than 400 lines, because a step reads from top to bottom in one class.
#include "trainer/train/loop/loop.h"

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/input_error.h"
#include "base/joined.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "bp/store.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/trace.h"
#include "comm/torch/shared_room.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/common/stop_signals.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/optim/rates.h"
#include "trainer/tasks/task_input.h"
#include "trainer/train/batches.h"
#include "trainer/train/loop/early_stop.h"
#include "trainer/train/loop/figure_sums.h"
#include "trainer/train/loop/host_casts.h"
#include "trainer/train/loop/host_shares.h"
#include "trainer/train/loop/interval_rule.h"
#include "trainer/train/loop/shard_shares.h"
#include "trainer/train/loop/step_passes.h"
#include "trainer/train/loop/step_shares.h"
#include "trainer/train/loop/training_state.h"
#include "trainer/train/methods/averaged_weights.h"
#include "trainer/train/methods/freeze.h"
#include "trainer/train/methods/step_loss.h"
#include "trainer/train/watch/anomaly.h"
#include "trainer/train/watch/bug_folder.h"
#include "trainer/train/watch/gpu_memory.h"
#include "trainer/train/watch/machine_watch.h"
#include "trainer/train/watch/step_trace.h"
#include "trainer/train/watch/weight_histograms.h"

namespace bp::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double epochs_done(const CheckpointState& state) {
  const EpochPosition& at = state.position;
  return static_cast<double>(at.epoch * state.rows + at.used) / static_cast<double>(state.rows);
}

// One run of training on this rank: its parts, and how far it is.
class Loop {
 public:
  Loop(Communicator& world, const RunSettings& settings, const TrainJob& job, Bert& model)
      : world_(world),
        settings_(settings),
        job_(job),
        model_(model),
        sampler_(sampling(settings, job.rows, world.size(), job.lengths)),
        steps_(total_steps(settings, sampler_, job.start.step, job.start.position)),
        rates_(settings, sampler_, job.lr, {job.start.schedule_step, job.start.schedule_position}),
        now_(job.start),
        save_rule_(settings.save_every, job.rows, job.start.position, job.now),
        eval_rule_(settings.eval_every, job.rows, job.start.position, job.now),
        early_stop_(settings.early_stop, job.main_score, job.start.improvement),
        time_(settings.early_stop.max_time, job.start.elapsed, job.now),
        averages_(settings),
        shares_(settings.share,
                world.topology(),
                job.start.shares,
                job.start.step,
                weights_of_ranks(world.topology())),
        by_layer_(may_exchange_by_layer()),
        data_({job.store, sampling(settings, job.rows, world.size(), job.lengths), world.rank(),
               now_.step, now_.position, steps_ - now_.step, by_layer_ || settings.reduce_each,
               shares_.all(), settings.task}),
        optimizer_(
            world,
            model.parameters(),
            make_optimizer(model.parameters(), settings),
            {.micro_batches = settings.accumulate.most(),
             .wire = settings.wire,
             .error_feedback = settings.error_feedback,
             .loss_scaling = {.initial = settings.loss_scale},
             .sparse_gradients = model.sparse_gradients(),
             .shard = possible_shard(world, settings, model),
             .shard_shares = shard_shares(
                 world, settings.shard_shares, settings.shard, training_state(settings, model)),
             .layers = may_defer_rows() ? model.layers() : std::vector<std::vector<std::string>>(),
             .reduce_each = settings.reduce_each,
             .sync = settings.sync}),
        passes_(world, settings, job, model, optimizer_),
        unfreezing_(model, settings.unfreeze_every, job.rows),
        log_(job.metrics,
             steps_,
             now_.step,
             now_.totals,
             counters(),
             job.events,
             settings.log_every),
        figures_(step_figures(model, job.regularization, job.distillation)),
        gpu_memory_(world, settings),
        trace_(settings.trace, {world.rank(), world.size()}, now_.step) {
    now_.rows = job.rows;
  }

  TrainResult run() {
    start();
    if (settings_.eval_first && now_.step == 0) evaluate_first();
    if (!stopped_ && now_.evaluation_due) evaluate();
    if (!stopped_ && now_.step > 0) ended_ = early_stop_.reason(now_.elapsed);
    while (now_.step < steps_ && !stopped_ && !ended_) {
      gpu_memory_.watch(now_.step, [this] { make_step(); });
    }
    if (job_.checkpoints != nullptr) job_.checkpoints->finish();
    gather_weights();
    enter_layers(false);
    if (casts_) {
      model_.cast_by(nullptr);
      model_.parameters_changed();
    }
    if (averages_.get() != nullptr) averages_.get()->exchange(model_);
    log_.finish();
    TrainResult result;
    result.end = now_;
    result.end.totals = log_.totals();
    result.epochs = epochs_done(now_);
    result.stopped = stopped_;
    result.shard = optimizer_.shard();
    result.ended = ended_.value_or(RunEnd::steps);
    result.ended_text = early_stop_.explain(result.ended);
    result.summary = log_.summary();
    return result;
  }

 private:
  // Gives all ranks the weights and moments of rank 0, which may come from a checkpoint.
  void start() {
    std::vector<at::Tensor> averages;
    NamedTensors outer_momentum;
    if (!job_.resumed.empty()) {
      restore(job_.resumed, model_, now_.optimizer_state ? &optimizer_.optimizer() : nullptr,
              &averages, &outer_momentum);
    }
    optimizer_.broadcast_parameters();
    updates().defer_rows(may_defer_rows());
    averages_.start(model_, now_.optimizer_state ? now_.averaged : 0, averages, world_);
    optimizer_.load_state(
        {.nominal_weight = now_.nominal_weight,
         .loss_scale = now_.loss_scale > 0 ? now_.loss_scale : optimizer_.loss_scale(),
         .good_windows = now_.good_windows,
         .bucket_order = now_.bucket_order,
         .steps_of_round = now_.steps_of_round,
         .outer_momentum = outer_momentum});
    enter_layers(by_layer_);
    if (optimizer_.shard() != Shard::none && world_.size() > memories()) {
      casts_.emplace(world_);
      model_.cast_by([this](const std::vector<Weight*>& weights, at::ScalarType number) {
        (*casts_)(weights, number);
      });
    }
    model_.parameters_changed();
    if (const std::string found = passes_.find_batch(drawn_step(settings_, model_, now_.step));
        !found.empty()) {
      log_.say(found);
    }
  }

  // The training step. This rank computes the gradient of its own rows, reduce() averages the
  // gradients of all ranks, and every rank makes the same update.
  void make_step() {
    const auto begin = Clock::now();
    const StepBatches batches = next_batches();
    const auto fed = Clock::now();
    optimizer_.begin_window(static_cast<int>(batches.micro_batches.size()));
    gpu_memory_.computes(batches);

    const bool requested = stop_requested();
    const bool late = world_.rank() == 0 && time_.passed();
    if (requested || late) optimizer_.request_stop();
    const double lr = rates_.at({now_.step, now_.position});
    set_learning_rate(optimizer_.optimizer(), lr);
    for (const Batch& batch : batches.micro_batches) updates().catch_up(batch.token_ids);
    unfreezing_.apply(now_.step, now_.position);
    const AnomalyWatch watch(settings_.detect_anomaly);
    TrainingStep drawn = drawn_step(settings_, model_, now_.step);
    watch.observe(drawn);
    const std::uint64_t bytes = counters().bytes;
    announce_rows(batches);
    passes_.compute(batches, drawn);

    const auto computed = Clock::now();
    optimizer_.reduce();
    figures_.add(read_figures(passes_.take_figures()));  // reduce() has waited for the device
    const auto reduced = Clock::now();
    examine_step(world_, settings_, watch,
                 {settings_.run, "", model_, batches, drawn, optimizer_.loss_scale(),
                  optimizer_.nominal_weight()});
    std::uint64_t sent = counters().bytes - bytes;

    const DistributedOptimizer::Window window = optimizer_.window();
    const double norm = clip_gradient(batches, drawn, lr);
    const double loss_scale = optimizer_.loss_scale();
    share_rows(batches, window.seconds);
    const auto in_round = update_weights();
    if (has_rounds()) sent = counters().bytes - bytes;
    now_.skipped_in_a_row = window.overflow ? now_.skipped_in_a_row + 1 : 0;
    if (stop_due_) settle_stop(requested);
    finish_step(batches,
                {batches.world_rows, batches.world_tokens, epochs_done(now_), window.loss, lr, norm,
                 window.overflow, scales_loss() ? loss_scale : 0, window.split,
                 shares_.all().empty() ? std::vector<std::int64_t>() : batches.rows_of_ranks,
                 fed - begin, reduced - computed + in_round, Clock::now() - begin,
                 static_cast<std::int64_t>(sent), counters()});
  }

  // Makes the update, with which the step is done, and the round that is due. Returns the time of
  // both if there was a round.
  Clock::duration update_weights() {
    const auto begin = Clock::now();
    const double done = rates_.done({now_.step, now_.position});
    if (has_rounds()) updates().defer_rows(may_defer_rows() && !optimizer_.ends_round());
    bool changed = optimizer_.step();
    passes_.after_step();
    ++now_.step;
    now_.position = sampler_.after(now_.position);
    settle_due();
    if (changed || has_rounds()) model_.parameters_changed();
    if (has_rounds()) changed = optimizer_.is_common();
    if (changed && averages_.are_made()) averages_.update(model_, done);
    return has_rounds() && optimizer_.ended_round() ? Clock::now() - begin : Clock::duration(0);
  }

  // Finds out what is due after the step that was made. An evaluation, a checkpoint and the end of
  // the run need the same weights on all hosts, so these exchange them first.
  void settle_due() {
    const bool ends = now_.step == steps_;
    now_.evaluation_due = eval_rule_.due(now_.step, now_.position) || (evaluates() && ends);
    save_due_ = save_rule_.due(now_.step, now_.position);
    if (optimizer_.ended_round()) add_due_by_time();
    stop_due_ = optimizer_.ended_round() && optimizer_.round().stop;
    if (optimizer_.is_common() || !(now_.evaluation_due || save_due_ || stop_due_ || ends)) return;
    updates().catch_up();
    optimizer_.synchronise();
    stop_due_ |= optimizer_.round().stop;
  }

  // Rank 0 decides, since all ranks take part.
  void add_due_by_time() {
    if (!eval_rule_.goes_by_time() && !save_rule_.goes_by_time()) return;
    std::array<std::uint8_t, 2> due = {eval_rule_.time_is_up() ? std::uint8_t{1} : std::uint8_t{0},
                                       save_rule_.time_is_up() ? std::uint8_t{1} : std::uint8_t{0}};
    broadcast(world_, view(std::span(due)), {.name = "what is due by time"});
    now_.evaluation_due |= due[0] != 0;
    save_due_ |= due[1] != 0;
  }

  // Gives faster ranks more rows of later steps.
  void share_rows(const StepBatches& batches, std::span<const double> seconds) {
    const bool by_tokens = settings_.max_tokens > 0;
    const auto shares = shares_.add(
        {.step = now_.step,
         .rows = batches.rows_of_ranks,
         .seconds = seconds,
         .delay = Batches::kAhead + 2,
         .tokens = by_tokens ? batches.tokens_of_ranks : std::span<const std::int64_t>()});
    now_.shares = shares_.all();
    if (!shares) return;
    data_.set_shares(*shares);
    log_.say(concat("step ", now_.step + 1, ": from step ", shares->from_step + 1,
                    " on the ranks take ", joined(shares->rows, ", "),
                    by_tokens ? " parts of the tokens of a step" : " rows of a step"));
  }

  [[nodiscard]] StepBatches next_batches() {
    const TraceScope scope(world_.trace(), kComputeRow, "wait for data");
    return data_.next();
  }

  [[nodiscard]] bool evaluates() const { return !settings_.eval_every.empty(); }
  [[nodiscard]] bool has_rounds() const { return optimizer_.has_rounds(); }
  // Of what travels between ranks: with rounds, between hosts.
  [[nodiscard]] Counters counters() const {
    return has_rounds() ? optimizer_.round_counters() : world_.counters();
  }
  [[nodiscard]] bool scales_loss() const { return settings_.loss_scale > 0; }
  [[nodiscard]] OptimizerState& updates() { return state_of(optimizer_.optimizer()); }

  // Whether only passes read the weights from a step to the next one.
  [[nodiscard]] bool may_defer_rows() const {
    return !averages_.are_made() && settings_.trace.empty() && !settings_.detect_anomaly &&
           settings_.check_gradients == 0;
  }
  // The hosts, or the ranks where those of a host share no weights.
  [[nodiscard]] int memories() const {
    return memory_topology(world_, model_.parameters().front().second.device()).hosts();
  }
  [[nodiscard]] bool may_exchange_by_layer() const {
    return divides_among_hosts(settings_.shard) && memories() > 1 && may_defer_rows();
  }

  // The numbers of rows with gradients travel during the passes.
  void announce_rows(const StepBatches& batches) {
    std::vector<std::int64_t> rows;
    for (const Batch& batch : batches.micro_batches) {
      rows.insert(rows.end(), batch.token_ids.begin(), batch.token_ids.end());
    }
    for (const std::string& name : model_.sparse_gradients()) optimizer_.announce_rows(name, rows);
  }

  // Whether passes bring the weights of the layers that they enter.
  void enter_layers(bool bring) {
    if (!bring) return model_.before_layers(nullptr);
    model_.before_layers([this](std::size_t layer) { optimizer_.enter_layer(layer); });
  }

  // All ranks have all weights until the next step.
  void gather_weights() {
    updates().catch_up();
    optimizer_.gather_parameters();
    model_.cast_layers();
  }

  // Clips the reduced gradient and returns its norm before that. The optimizer skips a step that
  // overflowed on all ranks. Ends the run if the loss or the norm is not finite for another reason,
  // and also after kMostSkippedInARow steps that overflowed: with a loss scale of at most 1 the
  // gradient itself is taken to be infinite.
  [[nodiscard]] double clip_gradient(const StepBatches& batches,
                                     const TrainingStep& step,
                                     double lr) {
    const DistributedOptimizer::Window window = optimizer_.window();
    const auto refuse = [&](const char* what, double value, const std::string& since) {
      if (has_rounds()) {  // other hosts have other steps
        throw InputError(70, concat("the ", what, " at step ", now_.step + 1, " is ", value, since),
                         "try a lower --lr, a longer --warmup or --precision fp32");
      }
      gather_weights();
      report_not_finite(world_, {settings_.run, what, value, since, window.loss, lr, model_,
                                 batches, step, job_.regularization, job_.distillation,
                                 optimizer_.loss_scale(), optimizer_.nominal_weight()});
    };
    const bool may_skip_loss = scales_loss() && window.overflow;
    if (!std::isfinite(window.loss) && !may_skip_loss) refuse("loss", window.loss, "");
    const double norm = optimizer_.clip_grad_norm(
        settings_.clip > 0 ? settings_.clip : std::numeric_limits<double>::infinity());
    if (std::isfinite(norm)) return norm;
    if (!window.overflow) refuse("norm of the gradient", norm, "");
    if (now_.skipped_in_a_row + 1 >= kMostSkippedInARow && optimizer_.loss_scale() <= 1) {
      refuse("norm of the gradient", norm,
             concat(", as in the ", now_.skipped_in_a_row, " steps before it",
                    scales_loss() ? concat(", at the loss scale ", optimizer_.loss_scale()) : ""));
    }
    return norm;
  }

  // Returns whether this rank has noticed a request to stop early: a signal, a file in the run's
  // folder (rank 0 looks for it), or one in the job's store. Puts a request that this rank has
  // noticed into the store, so that the launcher knows why ranks end. All ranks then save and end
  // after the same step. Throws aborted if the job has failed: the other ranks cannot agree on a
  // step any more, and the signal may come from the launcher, which ends a failed job with SIGTERM.
  [[nodiscard]] bool stop_requested() const {
    Store* const store = world_.store();
    const bool here = stop_signal() != 0 ||
                      (!job_.stop_file.empty() && ::access(job_.stop_file.c_str(), F_OK) == 0);
    if (store == nullptr) return here;
    if (here) {
      if (const auto failure = store->job_failure()) {
        throw Error(ErrorCode::aborted, concat("the job has failed: ", failure->text));
      }
      if (!store->stop_requested()) store->request_stop();
    }
    return here || store->stop_requested();
  }

  // Some rank stopped the run after this step: for a request, or rank 0 because the time has
  // passed. A request goes first, since whoever asked expects a run that can be resumed.
  void settle_stop(bool requested) {
    std::int64_t requests = requested ? 1 : 0;
    if (settings_.early_stop.max_time.count() > 0) {
      all_reduce(world_, view(std::span(&requests, 1)), {.op = ReduceOp::sum, .name = "stop"});
      stopped_ = requests > 0;
    } else {
      stopped_ = true;
    }
    if (!stopped_ && now_.step < steps_) ended_ = RunEnd::max_time;
  }

  // Does what is due after a step: records, an evaluation, a checkpoint. The checkpoint comes last,
  // so that it contains the others' results.
  void finish_step(const StepBatches& batches, const StepFacts& measured) {
    figures_.end_step(measured.skipped);
    const bool epoch_ends = now_.position.used == 0;
    if ((log_.records(now_.step) || epoch_ends) && optimizer_.ended_round()) exchange_figures();
    log_.step(measured);
    machine_.after_step(now_.step, world_.topology().local_rank() == 0);
    {
      const TraceScope scope(world_.trace(), kComputeRow, "records");
      trace_.write(batches, measured.loss, model_);
    }

    const bool last = now_.step == steps_ || ended_;
    if (ended_) now_.evaluation_due = evaluates();
    if (now_.evaluation_due && !stopped_) evaluate();
    if (!stopped_ && now_.step < steps_ && !ended_) ended_ = early_stop_.reason();
    const bool is_best = std::ranges::count(now_.best, now_.step, &BestResult::step) > 0;
    if (stopped_ || last || ended_ || is_best || save_due_) save();
    if (job_.checkpoints != nullptr) job_.checkpoints->check();
  }

  // Gives the log the figures of all ranks, up to the last step.
  void exchange_figures() {
    if (figures_.pending()) log_.figures(figures_.exchange(world_), epochs_done(now_));
  }

  [[nodiscard]] DevScores evaluated() {
    const bool frees_layers = by_layer_ && settings_.shard == Shard::parameters;
    if (frees_layers) {
      updates().catch_up();
    } else {
      gather_weights();
    }
    enter_layers(frees_layers);
    const WithAverages with_averages(averages_.get(), model_);
    DevScores scores = job_.evaluate();
    enter_layers(by_layer_);
    if (!settings_.tensorboard.empty()) gather_weights();  // whose histograms are written
    return scores;
  }

  void evaluate() {
    const TraceScope scope(world_.trace(), kComputeRow, "evaluation");
    exchange_figures();
    const auto [result, stopped] = evaluated();
    eval_rule_.done();
    stopped_ |= stopped;
    now_.evaluation_due = stopped;
    if (!result || stopped) return;
    now_.dev = result;
    early_stop_.evaluated(*result);
    now_.improvement = early_stop_.improvement();
    rank_result(now_.best, {now_.step, *result}, job_.main_score, settings_.keep_best);
    log_.evaluated(epochs_done(now_), job_.evaluated, *result, job_.main_score);
    if (job_.events != nullptr) write_weights(*job_.events, now_.step, model_.parameters());
  }

  // The scores of the first weights are only for comparison: no checkpoint has these weights, and
  // they count neither as the best ones nor for the end of the run.
  void evaluate_first() {
    const TraceScope scope(world_.trace(), kComputeRow, "evaluation");
    const auto [result, stopped] = evaluated();
    stopped_ |= stopped;
    if (result && !stopped) log_.evaluated(0, job_.evaluated, *result, job_.main_score);
  }

  void save() {
    if (settings_.save_every.empty()) return;
    if (settings_.error_feedback) forget_residuals();
    exchange_figures();
    const bool in_pieces = saves_in_pieces(settings_, world_.topology(), model_);
    if (in_pieces) {
      updates().catch_up();
    } else {
      gather_weights();
      if (settings_.optimizer_state || !has_rounds()) optimizer_.gather_state();
    }
    if (job_.checkpoints != nullptr) {
      save_checkpoint();
    } else if (in_pieces) {
      optimizer_.stream_state();
    }
    // All ranks wait for rank 0, whose disk may be slow. They end at once if it ends.
    barrier(world_, {.name = "checkpoint", .timeout = std::chrono::hours(1)});
  }

  void save_checkpoint() {
    const TraceScope scope(world_.trace(), kComputeRow, "checkpoint");
    now_.totals = log_.totals();
    now_.elapsed = time_.elapsed();
    now_.optimizer_state = settings_.optimizer_state;
    now_.averaged = averages_.updates();
    const DistributedOptimizer::State state = optimizer_.state();
    now_.nominal_weight = state.nominal_weight;
    now_.loss_scale = scales_loss() ? state.loss_scale : 0;
    now_.good_windows = state.good_windows;
    now_.bucket_order = state.bucket_order;
    now_.steps_of_round = state.steps_of_round;
    job_.checkpoints->save(now_, model_, optimizer_,
                           averages_.get() != nullptr ? &averages_.get()->averages() : nullptr);
    save_rule_.done();
    log_.resume_clock();
  }

  // Residuals are each rank's own and together as large as the model for each rank, so a checkpoint
  // has none. The run drops them too, and so computes what a run computes that resumes from there.
  void forget_residuals() {
    DistributedOptimizer::State state = optimizer_.state();
    state.residuals.clear();
    optimizer_.load_state(state);
  }

  Communicator& world_;
  const RunSettings& settings_;
  const TrainJob& job_;
  Bert& model_;
  const RowSampler sampler_;
  const std::int64_t steps_;
  const Rates rates_;
  CheckpointState now_;
  IntervalRule save_rule_;
  IntervalRule eval_rule_;
  EarlyStop early_stop_;
  TimeLimit time_;
  RunAverages averages_;
  bool stopped_ = false;
  bool save_due_ = false;  // after the last step, as the next one
  bool stop_due_ = false;
  std::optional<RunEnd> ended_;

  StepShares shares_;
  const bool by_layer_;  // the hosts exchange weights, during passes
  Batches data_;
  DistributedOptimizer optimizer_;
  StepPasses passes_;
  std::optional<HostCasts> casts_;
  GradualUnfreezing unfreezing_;
  TrainLog log_;
  FigureSums figures_;
  MachineWatch machine_;
  GpuMemoryHistory gpu_memory_;
  StepTrace trace_;
  const StopSignals signals_;
};

}  // namespace

TrainResult train(Communicator& world,
                  const RunSettings& settings,
                  const TrainJob& job,
                  Bert& model) {
  return Loop(world, settings, job, model).run();
}

}  // namespace bp::trainer
