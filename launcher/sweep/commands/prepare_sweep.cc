#include "launcher/sweep/commands/prepare_sweep.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/system/regular_file.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/commands/program_options.h"
#include "launcher/sweep/driver/pool.h"
#include "launcher/sweep/placement/trial_placement.h"
#include "launcher/sweep/space/metric.h"

namespace bp::launcher::sweep {
namespace {

[[noreturn]] void refuse_sweep(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, text);
}

void check_programs(const SweepSettings& settings, bool given) {
  const auto has_own = [](const Block& block) { return !block.program.empty(); };
  const bool all_own = std::ranges::all_of(settings.space.blocks, has_own);
  if (!given && !all_own) {
    refuse_sweep("no program is given: write -- PROGRAM ARGS after the options");
  }
  if (given && all_own) {
    refuse_sweep("every block of SPACE has a program, so the one after -- has no effect");
  }
}

void check_options(SweepSettings& settings, const std::string& space, int stop) {
  for (std::size_t block = 0; block < settings.space.blocks.size(); ++block) {
    const auto& program = program_of(settings, static_cast<int>(block));
    const auto help = options_of_trainer(program, stop);
    settings.trainers.push_back(help.has_value());
    if (!help) continue;
    if (std::ranges::find(program, "--run") != program.end()) {
      refuse_sweep("--run has no place in a sweep: each trial has a run in its own folder");
    }
    check_parameters(space, settings.space.blocks[block], program, *help);
  }
}

// What bert_train reports is known. A name may say which of two values is better.
void find_metric(SweepSettings& settings, const SweepOptions& options) {
  Space& space = settings.space;
  if (space.metric.empty()) {
    space.metric = options.metric;
  }
  if (!space.direction && space.metric == options.metric) {
    space.direction = options.direction;
  }
  if (space.metric.empty() && trains(settings, 0)) {
    space.metric = "dev_accuracy";
  }
  if (space.metric.empty() && settings.until) {
    space.metric = settings.until->metric;
  }
  if (!space.direction) {
    space.direction = usual_direction(space.metric);
  }
  const auto learns = [](const Block& block) { return block.sampler == SamplerKind::tpe; };
  const bool needed = space.stop.rule != StopSpec::Rule::none ||
                      std::ranges::any_of(space.blocks, learns) || !space.metric.empty();
  if (needed && !space.direction) {
    refuse_sweep(concat(options.space, ": ",
                        space.metric.empty() ? "the metric" : concat("the metric ", space.metric),
                        " may be better when it is larger or smaller; add direction: min or "
                        "direction: max"));
  }
  if (settings.until && settings.until->metric != space.metric) {
    refuse_sweep(concat("--until names ", settings.until->metric,
                        ", but the metric of the sweep is ", space.metric));
  }
}

void check_slots(const SweepSettings& settings) {
  const Pool pool(hosts_of(settings.plan));
  for (const Block& block : settings.space.blocks) {
    if (fits_when_free({.slots = block.slots, .spread = block.spread}, pool.view_of_all())) {
      continue;
    }
    refuse_sweep(concat("a trial", block.name.empty() ? "" : concat(" of block ", block.name),
                        " needs ", block.slots, " slots",
                        block.spread == Spread::host ? " on one host" : "", ", and the ",
                        pool.size() == 1 ? "host has " : "hosts have ", pool.all_slots(),
                        block.spread == Spread::host && pool.size() > 1 ? " in all" : "",
                        "; give more with -n or -H, or lower slots in SPACE"));
  }
}

// On another host the sweep starts the bprun-sweep beside the bprun that --remote-bprun names.
std::string remote_sweep(const std::string& remote_bprun) {
  return remote_bprun.empty()
             ? ""
             : (std::filesystem::path(remote_bprun).parent_path() / "bprun-sweep").string();
}

}  // namespace

std::variant<SweepSettings, EarlyExit> prepare_sweep(const SweepOptions& options, int stop) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  FileContent space = read_whole(open_regular_file(options.space), kMostBytes);
  if (!space.problem.empty()) {
    return EarlyExit{kExitNoInput,
                     concat("bprun sweep: cannot read ", options.space, ": ", space.problem)};
  }
  SweepSettings settings;
  settings.space = parse_space(space.text, options.space);
  settings.space_text = std::move(space.text);
  settings.program = options.program;
  settings.folder = options.folder.empty()
                        ? concat("sweeps/", std::filesystem::path(options.space).stem().string())
                        : options.folder;
  settings.bprun = options.bprun;
  settings.max_trials = options.max_trials;
  settings.max_restarts = options.max_restarts;
  if (options.max_hours) {
    settings.max_time =
        std::chrono::milliseconds(static_cast<std::int64_t>(*options.max_hours * 3.6e6));
  }
  if (!options.until.empty()) {
    settings.until = parse_until(options.until);
  }
  check_programs(settings, !options.program.empty());
  check_options(settings, options.space, stop);
  find_metric(settings, options);
  Options hosts = options.bprun;
  hosts.remote_bprun = remote_sweep(options.bprun.remote_bprun);
  auto plan = make_plan(hosts);
  if (auto* exit = std::get_if<EarlyExit>(&plan)) {
    return std::move(*exit);
  }
  settings.plan = std::move(std::get<JobPlan>(plan));
  for (PlacedHost& placed : settings.plan.placement) {
    placed.host.slots = placed.ranks;
  }
  check_slots(settings);
  return settings;
}

void check_same_sweep(SweepState& state, const SweepSettings& settings, const std::string& space) {
  const std::string known = state.setting("space");  // "" in a new folder
  const std::string program = nlohmann::json(settings.program)
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (!known.empty() && known != settings.space_text) {
    refuse_sweep(concat(settings.folder, " holds a sweep of another version of ", space,
                        "; restore that version, or choose another --folder"));
  }
  if (!known.empty() && state.setting("program") != program) {
    refuse_sweep(concat(settings.folder,
                        " holds a sweep of another program or other arguments; repeat those, or "
                        "choose another --folder"));
  }
  state.put_setting("space", settings.space_text);
  state.put_setting("program", program);
  state.put_setting("metric", settings.space.metric);
  state.put_setting("direction", direction_of(settings) == Direction::max ? "max" : "min");
}

}  // namespace bp::launcher::sweep
