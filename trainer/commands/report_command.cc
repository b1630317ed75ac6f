// The commands about the folders of runs: report, runs and stop.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/options/option_set.h"
#include "base/report/section.h"
#include "base/text.h"
#include "trainer/commands/answer.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/common/look_up.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/report.h"
#include "trainer/report/shown_text.h"
#include "trainer/report/terminal_width.h"
#include "trainer/run/run_folder.h"
#include "trainer/runs/comparison.h"
#include "trainer/runs/estimate.h"
#include "trainer/runs/run_list.h"
#include "trainer/runs/run_report.h"

namespace bp::trainer {
namespace {

std::string file_page(const std::string& path, const ScoredFile& scored) {
  Section scores{.title = "Scores", .table = {.columns = {{}, {}}}};
  for (const auto& [key, value] : scored.summary.scores) scores.table.add({key, score_text(value)});
  return page_html({.title = path,
                    .sections = joined({{scores}, scored.sections}),
                    .footer = "Written by bert_train report."});
}

// Prints the scores of a file, and returns the page about it.
std::string report_file(const std::string& path) {
  const std::optional<ScoredFile> scored = score_file({.path = path, .name = path});
  if (!scored) {
    throw InputError(65, path + " has no predictions that can be scored by themselves",
                     "name the run's folder");
  }
  if (scored->lines.empty()) {
    throw InputError(65, concat("no row of ", path, " has an answer to compare with"),
                     "rows without labels cannot be scored");
  }
  for (const std::string& line : scored->lines) print_line(line);
  print_text(scored->errors);
  return file_page(path, *scored);
}

// Prints the table of --parameter-table.
void print_parameters(const RunRecord& run) {
  if (!run.summary || run.summary->parameters.empty()) {
    throw InputError(65, run.path + "/summary.json has no table of parameters",
                     "a run that is complete has one; without --parameter-table, report shows the "
                     "rest");
  }
  print_text('\n' + parts_text(run.summary->parameters));
}

std::string report_run(const std::string& path, bool with_parameters) {
  const RunRecord run = read_run(path);
  const ScoredFile scored = score_predictions(run);
  print_text(run_text(run, scored));
  if (with_parameters) print_parameters(run);
  return render_report(report_of(run, scored));
}

std::string report_runs(const std::vector<std::string>& paths) {
  std::vector<RunRecord> runs;
  for (const std::string& path : paths) {
    if (!folder_exists(path)) {
      throw InputError(2, concat(path, " is not a run's folder"),
                       "several RUN must all be folders; a predictions.csv is scored alone");
    }
    runs.push_back(read_run(path));
  }
  print_text(comparison_text(runs, columns_of_stdout()));
  return comparison_page(runs);
}

}  // namespace

CommandLine parse_report(const std::vector<std::string>& arguments, const Extensions& /*none*/) {
  ReportOptions o;
  OptionSet set("bert_train report",
                "Shows the scores of a run or of a predictions.csv, or several runs side by side.\n"
                "A run may be in progress. Reads only; --out writes a page.");
  set.positional_paths({"RUN", "Folders of runs, or one predictions.csv"}, o.sources);
  set.path({"out", "File for a page (.html) that needs no other file", "none", "FILE"}, o.out);
  set.flag({"parameter-table", "Also list the parameters of the model's parts (of one run)"},
           o.parameter_table);
  std::string text = set.parse(arguments);
  return {std::move(o), std::move(text)};
}

CommandLine parse_runs(const std::vector<std::string>& arguments, const Extensions& /*none*/) {
  RunsOptions o;
  OptionSet set("bert_train runs", "Lists the runs in FOLDER, one on each line. Reads only.");
  set.optional_path({"FOLDER", "The folder that holds the runs' folders; default: runs"}, o.folder);
  set.text(
      {"sort", "A score (the best first), or name, state, date, steps or time", "name", "NAME"},
      o.sort);
  set.choice({"out-format", "Format of the list"}, o.format, {"text", "csv", "json"});
  std::string text = set.parse(arguments);
  return {std::move(o), std::move(text)};
}

CommandLine parse_stop(const std::vector<std::string>& arguments, const Extensions& /*none*/) {
  StopOptions o;
  OptionSet set("bert_train stop",
                "Asks the run in RUN to save a checkpoint and to end, with exit code 75.");
  set.path({"RUN", "The run's folder"}, o.run);
  std::string text = set.parse(arguments);
  return {std::move(o), std::move(text)};
}

int run_command(Communicator& world, const ReportOptions& options) {
  if (world.rank() != 0) return 0;
  require_writable(options.out);
  const std::vector<std::string>& sources = options.sources;
  if (options.parameter_table && (sources.size() > 1 || !folder_exists(sources.front()))) {
    throw InputError(2, "--parameter-table is about one run", "name the folder of one run");
  }
  const bool is_file = sources.size() == 1 && !folder_exists(sources.front());
  const std::string page = is_file ? report_file(sources.front())
                           : sources.size() == 1
                               ? report_run(sources.front(), options.parameter_table)
                               : report_runs(sources);
  if (options.out.empty()) return 0;
  write_whole_file(options.out, page);
  print_line("\npage  " + options.out);
  return 0;
}

int run_command(Communicator& world, const RunsOptions& options) {
  if (world.rank() != 0) return 0;
  std::vector<ListedRun> runs = list_runs(options.folder);
  sort_runs(runs, options.sort);
  const std::string metric = sorts_by_score(options.sort) ? options.sort : "";
  if (options.format == "csv" || options.format == "json") {
    const bool csv = options.format == "csv";
    std::fputs((csv ? runs_csv(runs, metric) : runs_json(runs, metric)).c_str(), stdout);
    std::fflush(stdout);
  } else {
    print_text(runs.empty() ? concat("no runs in ", options.folder, "\n")
                            : runs_text(runs, metric, columns_of_stdout()));
  }
  return 0;
}

int run_command(Communicator& world, const StopOptions& options) {
  if (world.rank() != 0) return 0;
  ask_to_stop(options.run);
  print_line(concat("asked the run in ", options.run, " to save and end"));
  return 0;
}

}  // namespace bp::trainer
