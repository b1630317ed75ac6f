#include "launcher/cli/options.h"

#include <algorithm>
#include <iterator>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/check_build.h"
#include "launcher/cli/check_joining.h"
#include "launcher/cli/completion.h"
#include "launcher/cli/env_option.h"
#include "launcher/cli/option_rows.h"
#include "launcher/cli/usage_error.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher {
namespace {

constexpr const char* kIntroduction =
    R"(Starts a program on several ranks, here and on other hosts, and says why it failed.

Examples:
  bprun -n 4 PROGRAM ARGS...             four ranks on this machine
  bprun -H a:3,b:1 PROGRAM ARGS...       three ranks on host a, one on b (ssh)
  bprun --hostfile FILE -n 8 PROGRAM     the first eight slots of FILE's hosts
  bprun -H localhost:2,127.0.0.1:1 PROGRAM
                                         this machine as two hosts, for a try
  bprun -H a:3,b:1 --dry-run PROGRAM     what would be started
  bprun doctor -H a,b                    whether these hosts are fit for a job
  bprun gpus -H a,b                      their GPUs, and who uses them
  bprun sweep SPACE.yaml -- PROGRAM      the program with many sets of options)";

void check_restarts(const Options& options) {
  if (options.min_ranks && options.max_restarts == 0) {
    refuse(
        "--min-ranks has no effect without restarts; add --max-restarts N or remove --min-ranks");
  }
  if (options.min_ranks && options.ranks && *options.min_ranks > *options.ranks) {
    refuse(concat("--min-ranks ", *options.min_ranks, " is more than -n ", *options.ranks));
  }
}

void check_options(const OptionSet& set, const Options& options) {
  const bool any_program = options.join && options.program.empty();
  if (!any_program && (options.program.empty() || options.program.front().empty())) {
    refuse("no program is given");
  }
  if (options.output_limit > 0 && options.output.empty()) {
    refuse("--output-limit has no effect without --output; add --output DIR or remove it");
  }
  check_variables(options.environment);
  check_host_options(options);
  check_restarts(options);
  check_joining(options);
  if ((set.given("slots") || options.first_rank) && !options.join && !options.serve_port) {
    refuse("--slots and --first-rank need --serve or --join");
  }
}

}  // namespace

std::variant<Options, EarlyExit> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  Listings listings;
  OptionSet set("bprun", kIntroduction);
  set.usage("bprun [OPTIONS] [--] PROGRAM [ARGS...]");
  set.version(concat("bprun ", own_version(), " (build ", own_build().substr(0, 12), ")"));
  set.end_at_program();
  add_options(set, options, listings);
  try {
    if (std::string text = set.parse(arguments); !text.empty()) return EarlyExit{0, text};
    if (listings.check_build) return EarlyExit{0, check_build(options.json)};
    if (!listings.completion.empty() && listings.completion != "bash") {
      refuse(concat("--completion supports bash, not '", listings.completion, "'"));
    }
    if (!listings.completion.empty()) return EarlyExit{0, bash_completion(set)};
    options.program = set.rest();
    check_options(set, options);
  } catch (const InputError& error) {
    return usage_error(set, arguments, error);
  } catch (const Error& error) {
    return usage_error(set, arguments, error);
  }
  options.own =
      without_values_of_env({arguments.begin(), arguments.end() - std::ssize(options.program)});
  return options;
}

}  // namespace bp::launcher
