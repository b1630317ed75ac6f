// The loss of a training step: the only place that decides what training minimises.
#pragma once

#include "trainer/data/batch.h"
#include "trainer/model/bert.h"
#include "trainer/tasks/regularization.h"

namespace bp::trainer {

class Distillation;

// Returns the loss of the batch, whose backward pass gives the gradient of the step: the head's
// loss of one forward pass, with R-Drop of two (r_drop.h), plus the weight of VAT times its loss
// (vat.h). With a teacher, that is the task's part of a loss that also has the teacher's
// (distillation.h). Each parameter gets one gradient, of all passes together.
[[nodiscard]] Loss step_loss(const Bert& model,
                             const Batch& batch,
                             const TrainingStep& step,
                             const Regularization& regularization,
                             const Distillation* distillation = nullptr);

}  // namespace bp::trainer
