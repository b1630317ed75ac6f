#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/results.h"
#include "trainer/report/terminal_width.h"
#include "trainer/runs/run_list.h"

namespace bp::trainer {

int run_runs(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  std::vector<ListedRun> runs = list_runs(options.source);
  sort_runs(runs, options.sort);
  const std::string metric = sorts_by_score(options.sort) ? options.sort : "";
  if (options.list_format == "csv" || options.list_format == "json") {
    const bool csv = options.list_format == "csv";
    std::fputs((csv ? runs_csv(runs, metric) : runs_json(runs, metric)).c_str(), stdout);
    std::fflush(stdout);
  } else {
    print_text(runs.empty() ? concat("no runs in ", options.source, "\n")
                            : runs_text(runs, metric, columns_of_stdout()));
  }
  return 0;
}

}  // namespace bp::trainer
