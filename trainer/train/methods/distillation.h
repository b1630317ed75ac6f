// Distillation: the model, a student, learns the outputs of a trained model, its teacher.
//
//   loss = (1 - weight) task loss + weight T^2 KL(softmax(teacher / T) || softmax(student / T))
//          + hidden D
//
// with the temperature T (Hinton et al., 2015, "Distilling the knowledge in a neural network",
// arXiv:1503.02531). D compares hidden states as TinyBERT does (Jiao et al., 2020,
// arXiv:1909.10351): the mean over the student's states, those of the embeddings (0) and of each of
// its L layers (1 to L), of the mean square of P s_i - t_j, over numbers and tokens of a sample and
// then over samples. The layers of the two are mapped evenly, j = round(i K / L) for the teacher's
// K layers. P is a matrix that is trained as well, or 1 if the two have states of the same width.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Returns the mean over the samples of the KL divergence times T^2, with the weight of the head's
// loss.
[[nodiscard]] Loss soft_loss(const Bert& student,
                             const at::Tensor& teacher_outputs,
                             const at::Tensor& student_outputs,
                             const Batch& batch,
                             double temperature);

// Returns the number of the teacher's layer whose states a student's layer learns.
[[nodiscard]] int teacher_layer(int student_layer, int student_layers, int teacher_layers);

// Returns D times the number of samples, a scalar. `projection` may be undefined.
[[nodiscard]] at::Tensor hidden_difference(const Layout& layout,
                                           const std::vector<at::Tensor>& student,
                                           const std::vector<at::Tensor>& teacher,
                                           const at::Tensor& projection);

class Distillation {
 public:
  // Adds the projection to the student if the two need one. The teacher never changes: it runs in
  // evaluation, in fp32 and without gradients.
  Distillation(std::unique_ptr<const Bert> teacher, const DistillOptions& options, Bert& student);

  // Returns the loss of the batch. `task_loss`: of the student's outputs, perhaps with
  // regularization. `student`: of forward_with_states() if reads_states(), else only with outputs.
  [[nodiscard]] Loss operator()(const Bert& model,
                                const Bert::WithStates& student,
                                const Loss& task_loss,
                                const Batch& batch) const;
  // Returns the names of the figures that it adds to those of the task's loss.
  [[nodiscard]] std::vector<const char*> figures() const;
  [[nodiscard]] bool reads_states() const { return options_.hidden > 0; }

 private:
  std::unique_ptr<const Bert> teacher_;
  DistillOptions options_;
};

}  // namespace bp::trainer
