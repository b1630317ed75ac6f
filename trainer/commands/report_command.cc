#include <optional>
#include <string>
#include <vector>

#include "base/report/section.h"
#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/results.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/whole_file.h"
#include "trainer/report/report.h"
#include "trainer/report/terminal_width.h"
#include "trainer/runs/comparison.h"
#include "trainer/runs/estimate.h"
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

int run_report(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  require_writable(options.out);
  const std::vector<std::string>& sources = options.sources;
  if (sources.size() > kMostRunColours) {
    throw InputError(
        2, concat("report compares at most ", kMostRunColours, " runs, not ", sources.size()),
        "bert_train runs FOLDER lists any number");
  }
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

}  // namespace bp::trainer
