#include <algorithm>
#include <utility>

#include "base/options/option_set.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {
namespace {

constexpr const char* kSweepExample =
    "bert_train sweep space.yaml -n 4 -- reviews.csv --text review --label stars";

std::string sweep_help(const HelpRequest& request) {
  std::string space;
  OptionSet set("bert_train sweep",
                "Trains many times with different options, on the slots of many hosts:\n"
                "bprun sweep SPACE [OPTIONS] -- bert_train DATA [OPTIONS]. The metric is the dev\n"
                "score of the task, unless SPACE names another one.\n\n"
                "Write -- and then what a single training would have: DATA and options.",
                concat("Example:\n  ", kSweepExample,
                       "\n\nbprun sweep --help lists the options between SPACE and --.\n"));
  set.path({"SPACE", "The parameters and how to search them (docs/sweep.md)"}, space);
  return set.parse({request.topic == "json" ? "--help=json" : "--help"});
}

}  // namespace

CommandLine parse_sweep(const std::vector<std::string>& arguments, const Extensions& extensions) {
  if (const HelpRequest request = help_in(arguments); request.asked) {
    return {{}, sweep_help(request)};
  }
  const auto end = std::ranges::find(arguments, "--");
  if (end == arguments.begin()) {
    throw InputError(2, "SPACE is missing: a YAML file with the parameters to try", kSweepExample);
  }
  if (end == arguments.end() || end + 1 == arguments.end()) {
    throw InputError(2, "-- and DATA are missing behind the options of the sweep", kSweepExample);
  }
  const std::vector<std::string> training(end + 1, arguments.end());
  CommandLine line = parse_command_line(training, extensions);
  if (!line.instead.empty()) return line;
  if (line.options.action != Action::train) {
    throw InputError(2, concat("a sweep trains: ", training.front(), " cannot stand behind --"),
                     kSweepExample);
  }
  line.options.action = Action::sweep;
  line.options.sweep.assign(arguments.begin(), end);
  line.options.arguments = training;
  return line;
}

}  // namespace bp::trainer
