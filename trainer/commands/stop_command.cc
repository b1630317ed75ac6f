#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/results.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

int run_stop(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  ask_to_stop(options.source);
  print_line(concat("asked the run in ", options.source, " to save and end"));
  return 0;
}

}  // namespace bp::trainer
