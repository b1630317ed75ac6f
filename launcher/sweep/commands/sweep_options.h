// The command line of `bprun sweep`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/cli/bprun_options.h"
#include "launcher/sweep/space/metric.h"

namespace bp::launcher::sweep {

struct SweepOptions {
  std::string space = {};   // the path of SPACE.yaml
  std::string folder = {};  // empty: sweeps/<name of SPACE>
  Options bprun = {};       // of its options, those that a trial's bprun gets too
  std::optional<int> max_trials = {};
  std::optional<double> max_hours = {};
  std::string until = {};                   // empty: not given
  std::string metric = {};                  // if SPACE names none; empty: not given
  std::optional<Direction> direction = {};  // of `metric`
  int max_restarts = 0;
  bool dry_run = false;
  bool estimate = false;
  bool json = false;
  bool quiet = false;
  std::vector<std::string> program = {};  // with its arguments; empty if each block has its own
};

// Returns the options, or what to print for --help or for wrong options.
[[nodiscard]] std::variant<SweepOptions, EarlyExit> parse_sweep_options(
    const std::vector<std::string>& arguments);

}  // namespace bp::launcher::sweep
