// The trained model whose outputs a run's model learns (--teacher).
#pragma once

#include <memory>

#include "trainer/commands/model_source.h"

namespace bp::trainer {

// Before the data is prepared. Throws InputError: 2 if models of the task cannot learn from a
// teacher, and what find_model() throws.
[[nodiscard]] ModelSource find_teacher(const TrainOptions& options);

// Collective. Loads the teacher of a model with the configuration `student`. Throws InputError (65)
// if it is for other labels or another vocabulary than the data's, and what load_model() throws.
[[nodiscard]] std::unique_ptr<const Bert> load_teacher(Communicator& world,
                                                       const ModelSource& teacher,
                                                       const RunSettings& settings,
                                                       const SampleStore& store,
                                                       const EncoderSpec& student);

}  // namespace bp::trainer
