#include <errno.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "bp/environment.h"
#include "trainer/commands/bprun_program.h"
#include "trainer/commands/commands.h"
#include "trainer/data/input_error.h"
#include "trainer/tasks/choose_metric.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {

int run_sweep(const Options& options) {
  if (Environment::current().topology.size() > 1) {
    throw InputError(2, "bert_train sweep starts its trials through bprun itself",
                     "run it once, without bprun or another launcher");
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const MainScore score =
      choose_metric(make_task(*options.task)->metrics(), options.best_metric, options.task_name);
  std::vector<std::string> words{bprun_program(self), "sweep"};
  words.insert(words.end(), options.sweep.begin(), options.sweep.end());
  words.insert(words.end(), {"--metric", concat("dev_", score.key), "--direction",
                             score.higher_is_better ? "max" : "min", "--", self.string()});
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(argv[0], argv.data());
  throw InputError(errno == ENOENT ? 127 : 126,
                   concat("cannot start ", words.front(), ": ", error_text(errno)),
                   "bprun must be beside bert_train or in PATH");
}

}  // namespace bp::trainer
