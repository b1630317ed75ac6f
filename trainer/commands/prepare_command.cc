#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/results.h"
#include "trainer/data/numbers.h"
#include "trainer/data/sample_store.h"
#include "trainer/share/shared_data.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

int run_prepare(Communicator& world, const Options& options) {
  const auto say = [&](const std::string& text) {
    if (world.rank() == 0) print_line(text);
  };
  const std::string path = prepare_everywhere(world, options, say);
  const SampleStore store = SampleStore::open(path);
  const std::string names = options.task->describe(store.names());
  say(concat(path, ": ", with_commas(store.size(Split::train)), " train, ",
             with_commas(store.size(Split::dev)), " dev and ", with_commas(store.size(Split::test)),
             " test samples; ", names.empty() ? "" : names + "; ", store.vocabulary().size(),
             " tokens"));
  return 0;
}

}  // namespace bp::trainer
