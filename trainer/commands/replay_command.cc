#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/commands/teacher_source.h"
#include "trainer/common/look_up.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/report/shown_text.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/tasks.h"
#include "trainer/train/methods/distillation.h"
#include "trainer/train/watch/bug_folder.h"

namespace bp::trainer {
namespace {

std::unique_ptr<Bert> model_of(const Task& task, const ReplayOptions& options) {
  const std::string& folder = options.folder;
  const TrainOptions& training = options.training;
  return as_input_error([&] {
    std::optional<LoraConfig> lora;
    const std::string adapters = concat(folder, "/", kAdapterConfigFile);
    if (path_exists(adapters)) lora = read_adapter_config(adapters);
    const EncoderSpec config = read_config(folder + "/config.json");
    task.check(config);
    return std::make_unique<Bert>(config, task.head(), training.precision, training.seed, lora);
  });
}

}  // namespace

int run_command(Communicator& world, const ReplayOptions& options) {
  if (world.rank() != 0) return 0;
  const FailedStepFile step = read_failed_step(options.folder);
  const auto task = make_task(*options.training.task);
  const auto model = model_of(*task, options);
  std::optional<Distillation> distillation;
  if (!options.training.distill.teacher.empty()) {
    TrainOptions here = options.training;
    here.distill.teacher = path_of_run(options.folder + "/../..", here.distill.teacher);
    distillation.emplace(load_model(find_teacher(here)), here.distill, *model);
  }
  const Replay again = replay(options.folder, step, *model, task->regularization(),
                              distillation ? &*distillation : nullptr);
  print_line(concat("step ", step.step, " failed: ", step.what));
  for (const Replay::OfBatch& batch : again.batches) {
    print_line(concat("rank ", batch.rank, ", batch ", batch.batch, ": ",
                      counted(batch.rows, "sample"), ", loss ", brief(batch.loss)));
  }
  print_line(again.first.empty()
                 ? concat("all values are finite this time; the norm of the gradient is ",
                          brief(again.norm))
                 : concat("the first value that is not finite: ", again.first));
  return 0;
}

}  // namespace bp::trainer
