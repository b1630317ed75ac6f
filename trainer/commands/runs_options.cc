#include <utility>

#include "base/options/option_set.h"
#include "trainer/commands/parse_commands.h"

namespace bp::trainer {
namespace {

CommandLine parse_own_set(OptionSet& set,
                          const std::vector<std::string>& arguments,
                          Options& options) {
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  options.settings = set.settings();
  options.arguments = arguments;
  return {std::move(options), ""};
}

}  // namespace

CommandLine parse_report(const std::vector<std::string>& arguments) {
  Options options;
  options.action = Action::report;
  OptionSet set("bert_train report",
                "Shows the scores of a run or of a predictions.csv, or several runs side by side.\n"
                "A run may be in progress. Reads only; --out writes a page.",
                "");
  set.positional_paths({"RUN", "Folders of runs, or one predictions.csv"}, options.sources);
  set.path({"out", "File for a page (.html) that needs no other file", "none", "FILE"},
           options.out);
  set.flag({"parameter-table", "Also list the parameters of the model's parts (of one run)"},
           options.parameter_table);
  return parse_own_set(set, arguments, options);
}

CommandLine parse_runs(const std::vector<std::string>& arguments) {
  Options options;
  options.action = Action::runs;
  options.source = "runs";
  OptionSet set("bert_train runs", "Lists the runs in FOLDER, one on each line. Reads only.", "");
  set.optional_path({"FOLDER", "The folder that holds the runs' folders; default: runs"},
                    options.source);
  set.text(
      {"sort", "A score (the best first), or name, state, date, steps or time", "name", "NAME"},
      options.sort);
  set.choice({"out-format", "Format of the list"}, options.list_format, {"text", "csv", "json"});
  return parse_own_set(set, arguments, options);
}

CommandLine parse_stop(const std::vector<std::string>& arguments) {
  Options options;
  options.action = Action::stop;
  OptionSet set("bert_train stop",
                "Asks the run in RUN to save a checkpoint and to end, with exit code 75.", "");
  set.path({"RUN", "The run's folder"}, options.source);
  return parse_own_set(set, arguments, options);
}

}  // namespace bp::trainer
