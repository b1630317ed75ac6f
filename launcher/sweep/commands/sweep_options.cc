#include "launcher/sweep/commands/sweep_options.h"

#include <algorithm>
#include <chrono>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/option_rows.h"
#include "launcher/cli/usage_error.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher::sweep {
namespace {

constexpr const char* kSweepIntroduction =
    R"(Runs a program once for each set of parameters in SPACE.yaml, on the slots of many hosts.

Examples:
  bprun sweep space.yaml -n 4 -- bert_train mine.csv --text review --label stars
  bprun sweep space.yaml -H a:3,b:1 -- ./simulate --size {size}
  bprun sweep space.yaml --dry-run -- ./simulate
                                         what would run
  bprun sweep status sweeps/space        how far it is; also while it runs
  bprun sweep best sweeps/space          the best trial and its folder
  bprun sweep report sweeps/space        writes a page with charts of all trials
  bprun sweep stop sweeps/space          ends it; the same command continues it
  bprun sweep stop sweeps/space 3        stops trial 3
  bprun sweep retry sweeps/space 3       runs trial 3 again)";

void add_sweep_options(OptionSet& set, SweepOptions& options) {
  set.optional_text({"SPACE", "the parameters and how to search them (docs/sweep.md)"},
                    options.space);
  set.path({"folder", "keep the sweep in DIR", "sweeps/NAME for NAME.yaml", "DIR"}, options.folder);
  set.number({"n", "use N slots", "all slots of the hosts, or 1"}, options.bprun.ranks, 1,
             kUnbounded);
  add_host_options(set, options.bprun);
  set.number({"max-trials", "start at most N trials", "all"}, options.max_trials, 1, kUnbounded);
  set.number({"max-hours", "stop after H hours; the same command continues", "no limit", "H"},
             options.max_hours, -kUnbounded, kUnbounded);
  set.text(
      {"until", "end once a trial reports such a value, as in loss<0.5", "never", "METRIC<VALUE"},
      options.until);
  set.text({"metric", "compare trials by METRIC if SPACE names none", "", "METRIC"},
           options.metric);
  set.choice<std::optional<Direction>>(
      {"direction", "whether --metric is better at its max or min"}, options.direction,
      {{"max", Direction::max}, {"min", Direction::min}});
  set.number({"max-restarts", "restart a trial up to N times after a failure"},
             options.max_restarts, 0, kUnbounded);
  set.duration({"grace", "give a trial TIME to save and end when asked to stop"},
               options.bprun.grace, std::chrono::seconds(0));
  add_lost_after_option(set, options.bprun);
  add_environment_options(set, options.bprun, "trials");
  set.flag({"dry-run", "list every trial and its command; start nothing"}, options.dry_run);
  set.flag({"estimate", "with --dry-run, run a few steps of bert_train to tell the time"},
           options.estimate);
  set.flag({"json", "print --dry-run as JSON"}, options.json);
  set.flag({"q,quiet", "print only failures and the end"}, options.quiet);
}

void check_sweep_options(const SweepOptions& options) {
  if (options.space.empty()) {
    refuse("no SPACE is given: a YAML file with the parameters of the trials");
  }
  if (options.max_hours && !(*options.max_hours > 0 && *options.max_hours < 1e6)) {
    refuse(concat("--max-hours must be more than 0, not ", *options.max_hours));
  }
  if (options.json && !options.dry_run) {
    refuse("--json has no effect without --dry-run; bprun sweep status has --json too");
  }
  if (options.direction && options.metric.empty()) {
    refuse("--direction has no effect without --metric; SPACE has direction too");
  }
  if (options.estimate && !options.dry_run) {
    refuse("--estimate has no effect without --dry-run");
  }
  check_host_options(options.bprun);
}

}  // namespace

std::variant<SweepOptions, EarlyExit> parse_sweep_options(
    const std::vector<std::string>& arguments) {
  SweepOptions options;
  OptionSet set("bprun sweep", kSweepIntroduction);
  set.usage("bprun sweep SPACE.yaml [OPTIONS] -- PROGRAM [ARGS...]");
  set.version(concat("bprun-sweep ", own_version(), " (build ", own_build().substr(0, 12), ")"));
  add_sweep_options(set, options);
  const auto end = std::ranges::find(arguments, "--");
  if (end != arguments.end()) options.program.assign(end + 1, arguments.end());
  const std::vector<std::string> own(arguments.begin(), end);
  try {
    if (std::string text = set.parse(own); !text.empty()) return EarlyExit{0, text};
    check_sweep_options(options);
    return options;
  } catch (const InputError& error) {
    return usage_error(set, own, error);
  } catch (const Error& error) {
    return usage_error(set, own, error);
  }
}

}  // namespace bp::launcher::sweep
