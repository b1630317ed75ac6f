// The tables of bprun's options, and of those that its tools and bprun sweep have, too.
#pragma once

#include <string>

#include "base/options/option_set.h"
#include "launcher/cli/bprun_options.h"

namespace bp::launcher {

// Options that show something instead of running a job.
struct Listings {
  bool check_build = false;
  std::string completion = {};  // for which shell
};

// Adds all options of bprun, in the order of --help. The targets must live until they are parsed.
void add_options(OptionSet& set, Options& options, Listings& listings);

// Which hosts to use, and how to reach them.
void add_host_options(OptionSet& set, Options& options);
void add_lost_after_option(OptionSet& set, Options& options);
// `of`: "ranks", whose variables they are.
void add_environment_options(OptionSet& set, Options& options, const std::string& of);

// For after parsing. Throws invalid_argument if options about hosts contradict each other.
void check_host_options(const Options& options);

}  // namespace bp::launcher
