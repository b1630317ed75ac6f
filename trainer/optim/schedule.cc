#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

using Share = std::function<double(const AfterWarmup&)>;

constexpr const char* kStep = "step";
constexpr const char* kCyclic = "cyclic";

// Falls to the end rate instead of 0.
Share to_end(const TrainOptions& options, Share share) {
  const double lowest = std::max(0.0, options.end_lr);
  return [lowest, share = std::move(share)](const AfterWarmup& at) {
    const double end = lowest / at.peak;
    return end + (1 - end) * share(at);
  };
}

Share linear(const TrainOptions& options) {
  return to_end(options, [](const AfterWarmup& at) { return at.left; });
}

Share cosine(const TrainOptions& options) {
  return to_end(options, [](const AfterWarmup& at) {
    return (1 - std::cos(std::numbers::pi * at.left)) / 2;
  });
}

Share polynomial(const TrainOptions& options) {
  const double power = options.power < 0 ? 1 : options.power;
  return to_end(options, [power](const AfterWarmup& at) { return std::pow(at.left, power); });
}

Share cyclic(const TrainOptions& options) {
  const auto cycle = static_cast<double>(options.cycle);
  return to_end(options, [cycle](const AfterWarmup& at) {
    const double phase = at.done / cycle - std::floor(at.done / cycle);
    return std::abs(1 - 2 * phase);
  });
}

double decay_factor(const TrainOptions& options) {
  return options.decay_factor < 0 ? 0.1 : options.decay_factor;
}

// The steps that are done are a whole number up to rounding, unless a resumed run is between two.
constexpr double kStepRounding = 1e-6;

Share in_steps(const TrainOptions& options) {
  const auto every = static_cast<double>(options.decay_every->steps);
  return [every, factor = decay_factor(options)](const AfterWarmup& at) {
    return std::pow(factor, std::floor((at.done + kStepRounding) / every));
  };
}

double epochs_at(const EpochPosition& position, std::int64_t rows) {
  return static_cast<double>(position.epoch) +
         static_cast<double>(position.used) / static_cast<double>(rows);
}

// Counts steps of a schedule in epochs, as `sampler` cuts them. The lengths of epochs may differ
// (--accumulate 4,2), so each end is counted from the beginning of the schedule.
class EpochSteps {
 public:
  EpochSteps(const RowSampler& sampler, const EpochPosition& from)
      : sampler_(sampler), from_(from), begin_(epochs_at(from, sampler.rows())) {}

  [[nodiscard]] std::int64_t in(double epochs) const {
    return sampler_.steps_until(begin_ + epochs, from_);
  }
  // Returns the multiples of `every` epochs that lie inside the steps from `first` to `last`, as
  // numbers of steps after `first`.
  [[nodiscard]] std::vector<double> multiples(double every,
                                              std::int64_t first,
                                              std::int64_t last) const {
    std::vector<double> multiples;
    for (int i = 1;; ++i) {
      const std::int64_t end = in(i * every);
      if (end >= last) return multiples;
      if (end > first) multiples.push_back(static_cast<double>(end - first));
    }
  }

 private:
  const RowSampler& sampler_;
  EpochPosition from_;
  double begin_;
};

Share in_epochs(const TrainOptions& options, std::vector<double> ends) {
  return [ends = std::move(ends), factor = decay_factor(options)](const AfterWarmup& at) {
    const auto falls = std::ranges::upper_bound(ends, at.done + kStepRounding) - ends.begin();
    return std::pow(factor, static_cast<double>(falls));
  };
}

struct OwnSchedule {
  std::string name;
  std::function<Share(const TrainOptions&)> share;
};

const std::vector<OwnSchedule>& own_schedules() {
  const auto always = [](Share share) {
    return [share = std::move(share)](const TrainOptions&) { return share; };
  };
  static const std::vector<OwnSchedule> kSchedules = {
      {"linear", linear},
      {"cosine", cosine},
      {"constant", always([](const AfterWarmup&) { return 1.0; })},
      {"polynomial", polynomial},
      {kStep, in_steps},
      {"inverse-sqrt", always([](const AfterWarmup& at) {
         return std::sqrt((at.warmup + 1) / (at.warmup + at.done + 1));
       })},
      {kCyclic, cyclic},
  };
  return kSchedules;
}

Share share_of(const TrainOptions& options) {
  for (const OwnSchedule& one : own_schedules()) {
    if (one.name == options.schedule) return one.share(options);
  }
  for (const CustomSchedule& one : options.extensions.schedules) {
    if (one.name != options.schedule) continue;
    return [share = one.share](const AfterWarmup& at) { return share(at.left); };
  }
  BP_CHECK(false, "there is no such schedule");
}

}  // namespace

void divide_total_batch(TrainOptions& options, int ranks) {
  if (options.total_batch == 0) return;
  const std::int64_t own = (options.total_batch + ranks - 1) / ranks;
  if (options.fits_batch) options.batch = static_cast<int>(own);
  options.accumulate = static_cast<int>((own + options.batch - 1) / options.batch);
}

RowSamplerOptions sampling(const TrainOptions& options,
                           std::int64_t rows,
                           int ranks,
                           Lengths lengths) {
  TrainOptions divided = options;
  divide_total_batch(divided, ranks);
  return {.rows = rows,
          .seed = options.seed,
          .ranks = ranks,
          .batch = divided.batch,
          .micro_batches = divided.accumulate,
          .max_tokens = options.max_tokens,
          .curriculum = options.curriculum,
          .group = options.group_lengths,
          .lengths = std::move(lengths),
          .total = options.total_batch};
}

std::vector<std::string> schedule_names(const Extensions& extensions) {
  std::vector<std::string> names;
  for (const OwnSchedule& one : own_schedules()) names.push_back(one.name);
  for (const CustomSchedule& own : extensions.schedules) names.push_back(own.name);
  return names;
}

std::int64_t spans_done(double every, const EpochPosition& position, std::int64_t rows) {
  constexpr double kRounding = 1e-9;  // 0.3 of three parts of 0.1
  return static_cast<std::int64_t>(std::floor(epochs_at(position, rows) / every + kRounding));
}

void check_schedule_options(const TrainOptions& options) {
  if (options.schedule == kStep && !options.decay_every) {
    throw InputError(2, "--schedule step needs --decay-every",
                     "the number of steps, or of epochs (1e), after which the rate falls");
  }
  if (options.schedule == kCyclic && options.cycle == 0) {
    throw InputError(2, "--schedule cyclic needs --cycle",
                     "the number of steps in which the rate falls and rises again");
  }
  if (options.lr.first() > 0 && options.end_lr > options.lr.least()) {
    throw InputError(2, concat("--end-lr ", options.end_lr, " is above --lr ", options.lr.least()),
                     "the rate falls from --lr to --end-lr");
  }
}

std::int64_t steps_left(const RunSettings& settings,
                        const RowSampler& sampler,
                        const RunPlace& from) {
  return settings.steps > 0 ? settings.steps - from.step
                            : sampler.steps_until(settings.epochs, from.position);
}

Schedule make_schedule(const RunSettings& settings,
                       const RowSampler& sampler,
                       const PerEpoch<double>& peak,
                       const RunPlace& from) {
  const EpochSteps epochs(sampler, from.position);
  const std::int64_t run = steps_left(settings, sampler, from);
  std::int64_t steps = run;
  if (const auto& length = settings.schedule_length) {
    steps = length->by == IntervalBy::steps ? length->steps - from.step : epochs.in(length->epochs);
    if (steps < run) {
      throw InputError(2, concat("--schedule-length is ", steps, " steps, and the run has ", run),
                       "give a longer schedule, or leave it out to end both together");
    }
  }
  const std::int64_t warmup =
      settings.warmup_steps > 0 ? settings.warmup_steps
      : settings.warmup_epochs > 0
          ? epochs.in(settings.warmup_epochs)
          : static_cast<std::int64_t>(settings.warmup * static_cast<double>(steps));
  const std::optional<Interval>& every = settings.decay_every;
  const bool by_epochs = settings.schedule == kStep && every && every->by == IntervalBy::epochs;
  return {peak, steps, warmup,
          by_epochs ? in_epochs(settings, epochs.multiples(every->epochs, warmup, steps))
                    : share_of(settings)};
}

std::int64_t total_steps(const RunSettings& settings,
                         const RowSampler& sampler,
                         std::int64_t step,
                         const EpochPosition& position) {
  return settings.steps > 0 ? settings.steps
                            : step + sampler.steps_until(settings.epochs, position);
}

double learning_rate(const Schedule& schedule, double step, std::int64_t epoch) {
  const auto steps = static_cast<double>(schedule.steps);
  BP_CHECK(step >= 0 && step < steps, "the schedule has no such step");
  const double warmup = std::min(static_cast<double>(schedule.warmup_steps), steps - 1);
  const double peak = schedule.peak.at(epoch);
  if (step < warmup) return peak * (step + 1) / (warmup + 1);
  return peak * schedule.share({(steps - step) / (steps - warmup), step - warmup, warmup, peak});
}

double default_learning_rate(int hidden, bool pretrained) {
  if (pretrained) return hidden < 512 ? 1e-4 : 5e-5;
  return 0.128 / hidden;
}

int default_epochs(bool pretrained) { return pretrained ? 3 : 10; }

}  // namespace bp::trainer
