#include "trainer/commands/commands.h"
#include "trainer/commands/results.h"
#include "trainer/data/data_check.h"
#include "trainer/data/input_error.h"
#include "trainer/data/plan.h"
#include "trainer/report/data_report.h"

namespace bp::trainer {

int run_check(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  PrepareOptions reading = options.prepare;
  reading.source = options.data;
  reading.seed = split_seed(options);
  const Plan plan = make_plan(reading);
  const DataFindings found = check_data(plan, print_line);
  print_line(data_report(found, plan));
  if (!found.obstacle.what.empty()) {
    throw InputError(65, found.obstacle.what, found.obstacle.hint);
  }
  return 0;
}

}  // namespace bp::trainer
