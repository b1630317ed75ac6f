// The loss of a training step: the only place that decides what training minimises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/tasks/regularization.h"

namespace bp::trainer {

class Distillation;

// Returns the loss of the batch, whose backward pass gives the gradient of the step: the head's
// loss of one forward pass, with R-Drop of two, plus the weight of VAT times its loss
// (vat.h). With a teacher, that is the task's part of a loss that also has the teacher's
// (distillation.h). Each parameter gets one gradient, of all passes together.
// Its figures are those of the head's loss and, if the loss has several parts, the parts without
// the weights that the options give them: task_loss, r_drop_loss, vat_loss, soft_loss, hidden_loss.
[[nodiscard]] Loss step_loss(const Bert& model,
                             const Batch& batch,
                             const TrainingStep& step,
                             const Regularization& regularization,
                             const Distillation* distillation = nullptr);

// Returns what decides the numbers that step `number` of a run, from 0, draws.
[[nodiscard]] TrainingStep drawn_step(const TrainOptions& options,
                                      const Bert& model,
                                      std::int64_t number);

// Returns the names of all figures that step_loss() may report.
[[nodiscard]] std::vector<std::string> step_figures(const Bert& model,
                                                    const Regularization& regularization,
                                                    const Distillation* distillation);

}  // namespace bp::trainer
