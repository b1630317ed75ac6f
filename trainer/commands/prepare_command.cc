// The commands about data: prep and check.
#include "base/input_error.h"
#include "base/text.h"
#include "trainer/commands/answer.h"
#include "trainer/commands/commands.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/plan.h"
#include "trainer/report/data_report.h"
#include "trainer/share/shared_data.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

int run_command(Communicator& world, const PrepOptions& options) {
  const Say say = say_on_rank_0(world);
  const std::string path = prepare_everywhere(world, job_data(world, options), say);
  const SampleStore store = SampleStore::open(path);
  const std::string names = options.task->describe(store.names());
  say(concat(path, ": ", with_commas(store.size(Split::train)), " train, ",
             with_commas(store.size(Split::dev)), " dev and ", with_commas(store.size(Split::test)),
             " test samples; ", names.empty() ? "" : names + "; ", store.vocabulary().size(),
             " tokens"));
  return 0;
}

int run_command(Communicator& world, const CheckOptions& options) {
  if (world.rank() != 0) return 0;
  const Plan plan = make_plan(options.prepare);
  const DataFindings found = check_data(plan, print_line);
  print_line(data_report(found, plan));
  if (!found.obstacle.what.empty()) {
    throw InputError(65, found.obstacle.what, found.obstacle.hint);
  }
  return 0;
}

}  // namespace bp::trainer
