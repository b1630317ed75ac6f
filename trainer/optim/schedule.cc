#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {
namespace {

using Share = std::function<double(const AfterWarmup&)>;

constexpr const char* kPolynomial = "polynomial";
constexpr const char* kStep = "step";
constexpr const char* kCyclic = "cyclic";

Share polynomial(const Options& options) {
  const double lowest = std::max(0.0, options.end_lr);
  const double power = options.power < 0 ? 1 : options.power;
  return [=](const AfterWarmup& at) {
    const double end = lowest / at.peak;
    return end + (1 - end) * std::pow(at.left, power);
  };
}

Share cyclic(const Options& options) {
  const double lowest = std::max(0.0, options.end_lr);
  const auto cycle = static_cast<double>(options.cycle);
  return [=](const AfterWarmup& at) {
    const double phase = at.done / cycle - std::floor(at.done / cycle);
    const double end = lowest / at.peak;
    return end + (1 - end) * std::abs(1 - 2 * phase);
  };
}

Share in_steps(const Options& options) {
  const double factor = options.decay_factor < 0 ? 0.1 : options.decay_factor;
  const auto every = static_cast<double>(options.decay_every);
  // The steps that are done are a whole number up to rounding, unless a resumed run is between two.
  constexpr double kRounding = 1e-6;
  return [=](const AfterWarmup& at) {
    return std::pow(factor, std::floor((at.done + kRounding) / every));
  };
}

struct OwnSchedule {
  std::string name;
  std::function<Share(const Options&)> share;
};

const std::vector<OwnSchedule>& own_schedules() {
  static const auto always = [](Share share) {
    return [share = std::move(share)](const Options&) { return share; };
  };
  static const std::vector<OwnSchedule> schedules = {
      {"linear", always([](const AfterWarmup& at) { return at.left; })},
      {"cosine", always([](const AfterWarmup& at) {
         return (1 - std::cos(std::numbers::pi * at.left)) / 2;
       })},
      {"constant", always([](const AfterWarmup&) { return 1.0; })},
      {kPolynomial, polynomial},
      {kStep, in_steps},
      {"inverse-sqrt", always([](const AfterWarmup& at) {
         return std::sqrt((at.warmup + 1) / (at.warmup + at.done + 1));
       })},
      {kCyclic, cyclic},
  };
  return schedules;
}

Share share_of(const Options& options) {
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

std::vector<std::string> schedule_names(const Extensions& extensions) {
  std::vector<std::string> names;
  for (const OwnSchedule& one : own_schedules()) names.push_back(one.name);
  for (const CustomSchedule& own : extensions.schedules) names.push_back(own.name);
  return names;
}

void check_schedule_options(const Options& options) {
  struct Given {
    const char* option;
    bool given;
    std::vector<std::string> schedules;
  };
  for (const Given& one : {Given{"--end-lr", options.end_lr >= 0, {kPolynomial, kCyclic}},
                           Given{"--power", options.power >= 0, {kPolynomial}},
                           Given{"--decay-every", options.decay_every > 0, {kStep}},
                           Given{"--decay-factor", options.decay_factor >= 0, {kStep}},
                           Given{"--cycle", options.cycle > 0, {kCyclic}}}) {
    if (!one.given || std::ranges::count(one.schedules, options.schedule) > 0) continue;
    throw InputError(2, concat(one.option, " has no effect with --schedule ", options.schedule),
                     concat("leave it out, or choose --schedule ", one.schedules.front(),
                            one.schedules.size() > 1 ? " or " + one.schedules.back() : ""));
  }
  if (options.schedule == kStep && options.decay_every == 0) {
    throw InputError(2, "--schedule step needs --decay-every",
                     "the number of steps after which the rate falls");
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

Schedule make_schedule(const Options& options,
                       const Sampler& sampler,
                       const PerEpoch<double>& peak,
                       const RunPlace& from) {
  const std::int64_t steps = options.steps > 0 ? options.steps - from.step
                                               : sampler.steps_until(options.epochs, from.position);
  return {peak, steps, static_cast<std::int64_t>(options.warmup * static_cast<double>(steps)),
          share_of(options)};
}

std::int64_t total_steps(const Options& options,
                         const Sampler& sampler,
                         std::int64_t step,
                         const EpochPosition& position) {
  return options.steps > 0 ? options.steps : step + sampler.steps_until(options.epochs, position);
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
