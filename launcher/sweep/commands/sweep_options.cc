#include "launcher/sweep/commands/sweep_options.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/help_text.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/host_options.h"
#include "launcher/cli/other_options.h"
#include "launcher/protocol/hello.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/exit_code.h"

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

struct RawSweepOptions {
  std::string grace = "30s";
  std::string lost_after = {};
  std::string direction = {};
};

EarlyExit sweep_usage_error(const std::string& text, const std::string& advice = "") {
  return {kExitUsage, concat("bprun sweep: ", text, "\n  hint: ", advice,
                             advice.empty()          ? ""
                             : advice.ends_with('?') ? " "
                                                     : "; ",
                             "bprun sweep --help shows examples and all options")};
}

[[noreturn]] void refuse_option(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, text);
}

void describe_sweep(CLI::App& app, SweepOptions& options, RawSweepOptions& raw) {
  app.description(kSweepIntroduction);
  app.set_help_flag("-h,--help", "show this and exit");
  app.set_version_flag(
      "--version",
      concat("bprun-sweep ", own_version(), " (build ", own_build().substr(0, 12), ")"),
      "show the version and exit");
  app.add_option("SPACE", options.space, "the parameters and how to search them (docs/sweep.md)")
      ->type_name("");
  app.add_option("--folder", options.folder,
                 "keep the sweep in DIR (default: sweeps/NAME for NAME.yaml)")
      ->type_name("DIR");
  app.add_option("-n", options.bprun.ranks, "use N slots (default: all slots of the hosts, or 1)")
      ->type_name("N");
  add_host_options(app, options.bprun);
  app.add_option("--max-trials", options.max_trials, "start at most N trials (default: all)")
      ->type_name("N");
  app.add_option("--max-hours", options.max_hours,
                 "stop after H hours; the same command continues (default: no limit)")
      ->type_name("H");
  app.add_option("--until", options.until,
                 "end once a trial reports such a value, as in loss<0.5 (default: never)")
      ->type_name("METRIC<VALUE");
  app.add_option("--metric", options.metric, "compare trials by METRIC if SPACE names none")
      ->type_name("METRIC");
  app.add_option("--direction", raw.direction, "whether --metric is better at its max or min")
      ->type_name("max|min");
  app.add_option("--max-restarts", options.max_restarts,
                 "restart a trial up to N times after a failure (default: 0)")
      ->type_name("N");
  app.add_option("--grace", raw.grace,
                 "give a trial TIME to save and end when asked to stop (default: 30s)")
      ->type_name("TIME");
  app.add_option("--lost-after", raw.lost_after,
                 "count a host as lost after TIME without a heartbeat (default: 9s)")
      ->type_name("TIME");
  app.add_option("--env", options.bprun.environment,
                 "pass the variable to other hosts too; with =VALUE set it for all trials")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_flag("--env-all", options.bprun.whole_environment,
               "pass the whole environment to other hosts");
  app.add_flag("--dry-run", options.dry_run, "list every trial and its command; start nothing");
  app.add_flag("--estimate", options.estimate,
               "with --dry-run, run a few steps of bert_train to tell the time");
  app.add_flag("--json", options.json, "print --dry-run as JSON");
  app.add_flag("-q,--quiet", options.quiet, "print only failures and the end");
}

void finish_sweep_options(SweepOptions& options, const RawSweepOptions& raw) {
  if (options.space.empty()) {
    refuse_option("no SPACE is given: a YAML file with the parameters of the trials");
  }
  if (options.max_trials && *options.max_trials < 1) {
    refuse_option(concat("--max-trials must be 1 or more, not ", *options.max_trials));
  }
  if (options.max_hours && !(*options.max_hours > 0 && *options.max_hours < 1e6)) {
    refuse_option(concat("--max-hours must be more than 0, not ", *options.max_hours));
  }
  if (options.max_restarts < 0) {
    refuse_option(concat("--max-restarts must be 0 or more, not ", options.max_restarts));
  }
  if (options.bprun.ranks && *options.bprun.ranks < 1) {
    refuse_option(concat("-n must be 1 or more, not ", *options.bprun.ranks));
  }
  if (options.json && !options.dry_run) {
    refuse_option("--json has no effect without --dry-run; bprun sweep status has --json too");
  }
  if (!raw.direction.empty()) {
    if (raw.direction != "max" && raw.direction != "min") {
      refuse_option(concat("--direction must be max or min, not ", raw.direction));
    }
    if (options.metric.empty()) {
      refuse_option("--direction has no effect without --metric; SPACE has direction too");
    }
    options.direction = raw.direction == "max" ? Direction::max : Direction::min;
  }
  if (options.estimate && !options.dry_run) {
    refuse_option("--estimate has no effect without --dry-run");
  }
  options.bprun.grace = parse_duration(raw.grace, "--grace");
  if (!raw.lost_after.empty()) {
    options.bprun.lost_after = parse_duration(raw.lost_after, "--lost-after");
    if (options.bprun.lost_after < kLeastLostAfter || options.bprun.lost_after > kMostLostAfter) {
      refuse_option(concat("--lost-after must be from 5s to 24h, not ", raw.lost_after));
    }
  }
  check_host_options(options.bprun);
}

}  // namespace

std::variant<SweepOptions, EarlyExit> parse_sweep_options(
    const std::vector<std::string>& arguments) {
  SweepOptions options;
  RawSweepOptions raw;
  CLI::App app("", "bprun sweep");
  describe_sweep(app, options, raw);
  const auto end = std::ranges::find(arguments, "--");
  if (end != arguments.end()) {
    options.program.assign(end + 1, arguments.end());
  }
  try {
    std::vector<std::string> words(arguments.begin(), end);
    std::ranges::reverse(words);  // CLI11 takes the last word first
    app.parse(std::move(words));
    finish_sweep_options(options, raw);
    return options;
  } catch (const CLI::CallForHelp&) {
    std::string text = app.help();
    constexpr std::string_view kUsage = "bprun sweep [OPTIONS] [SPACE]";
    if (const std::size_t at = text.find(kUsage); at != std::string::npos) {
      text.replace(at, kUsage.size(), "bprun sweep SPACE.yaml [OPTIONS] -- PROGRAM [ARGS...]");
    }
    return EarlyExit{0, wrap_help(text)};
  } catch (const CLI::CallForVersion& version) {
    return EarlyExit{0, concat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) {
    const auto rest = app.remaining(false);
    return sweep_usage_error(error.what(), rest.empty() ? "" : advice_for(app, rest.front()));
  } catch (const Error& error) {
    return sweep_usage_error(error.what());
  }
}

}  // namespace bp::launcher::sweep
