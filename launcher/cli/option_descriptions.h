// Which options bprun has: their names, help texts and where their values go.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "launcher/cli/options.h"

namespace bp::launcher {

// Values that CLI11 cannot convert itself.
struct RawOptions {
  std::string prefix = "rank";
  std::string colours = "auto";
  std::string shown_ranks;   // empty: not given
  std::string output_limit;  // empty: not given
  std::string grace = "30s";
  std::string kill_silent;  // empty: not given
  std::string lost_after;   // empty: not given
  std::string on_failure = "stop";
  std::string input = "0";
  bool check_build = false;
  std::string completion;
  std::optional<std::string> join;
  std::optional<int> slots;
};

// Adds all options of bprun to `app`, in the order of --help. Parsing writes into `options` and
// `raw`, so all three must live until then.
void describe_options(CLI::App& app, Options& options, RawOptions& raw);

}  // namespace bp::launcher
