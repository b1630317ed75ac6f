#include "trainer/commands/teacher_source.h"

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

ModelSource find_teacher(const TrainOptions& options) {
  ModelSource teacher;
  try {
    teacher = find_model(model_folder(options.distill.teacher), *options.task, options.extensions);
  } catch (const InputError& error) {
    throw InputError(error.exit_code(), concat("--teacher: ", error.what()), error.hint());
  }
  if (!teacher.task->compares_predictions()) {
    throw InputError(
        2,
        concat("--teacher: models of the task ", options.task_name, " do not learn from a teacher"),
        "only those of classify, gap, regress and tokens do; leave out --teacher");
  }
  if (!teacher.pretrained()) {
    throw InputError(2, concat("--teacher: ", teacher.name, " has no weights"),
                     "name the folder of a trained model: RUN/model");
  }
  return teacher;
}

std::unique_ptr<const Bert> load_teacher(Communicator& world,
                                         const ModelSource& teacher,
                                         const RunSettings& settings,
                                         const SampleStore& store,
                                         const EncoderSpec& student) {
  try {
    check_samples(store, teacher, *settings.task);
  } catch (const InputError& error) {
    throw InputError(error.exit_code(), concat("--teacher: ", error.what()),
                     concat("give the data its vocabulary, case and length: --vocab ",
                            teacher.vocabulary, ", --max-length"));
  }
  const Task::TakenWeights taken = teacher.task->taken_weights(teacher.config, student);
  if (!taken.replaced.empty()) {
    throw InputError(65,
                     concat("--teacher: ", teacher.name,
                            " predicts something else than the data "
                            "has",
                            taken.reason.empty() ? "" : concat(": ", taken.reason)),
                     "train the teacher on data with the same labels");
  }
  return load_model(world, teacher, device_of(settings.rank_device));
}

}  // namespace bp::trainer
