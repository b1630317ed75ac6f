// Which parameters training changes, and when; their number, part by part.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/batches/row_sampler.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/report/parameter_table.h"

namespace bp::trainer {

// From here on, the parameters in `parts` (see frozen_names(), trainer/optim) require no gradient:
// no backward pass computes one, no optimizer has them, and none travels between ranks. Throws what
// frozen_names() throws, and InputError (2) for a part in which a model with adapters has none.
void freeze(Bert& model, const std::vector<std::string>& parts);

// Freezes the parts, and lets the gradients of the others be sparse where that is possible.
void choose_gradients(Bert& model, const std::vector<std::string>& frozen);

// Gradual unfreezing (Howard and Ruder 2018): a run begins with the head and the pooler alone, and
// trains one more layer from the top down after each span; the embeddings come last. All is a
// function of the place in the run, so all ranks and a resumed run do the same.
class GradualUnfreezing {
 public:
  // `every`: steps or epochs; nothing for a run that trains all from the beginning. `rows`: of an
  // epoch. Parameters that require no gradient now stay as they are. `model` must outlive this
  // object, which must be made after the optimizer.
  GradualUnfreezing(const Bert& model, const std::optional<Interval>& every, std::int64_t rows);
  // All parameters are as they were before.
  ~GradualUnfreezing();
  GradualUnfreezing(const GradualUnfreezing&) = delete;
  GradualUnfreezing& operator=(const GradualUnfreezing&) = delete;

  // Freezes and unfreezes what the step needs that begins at this place. Between windows only.
  void apply(std::int64_t step, const EpochPosition& position) const;

 private:
  std::optional<Interval> every_;
  std::int64_t rows_;
  std::vector<std::pair<int, at::Tensor>> parameters_;  // with their distance from the head
};

// Returns the parts in the order of the forward pass, with the rates that --layer-decay gives them.
// Throws InputError (2) for such rates of layers that share their weights.
[[nodiscard]] std::vector<ModelPart> parts_of(const Bert& model, const TrainOptions& options);

// Returns the number of all parameters, also of those that are frozen.
[[nodiscard]] std::int64_t count_all_parameters(const Bert& model);

// Throws InputError (77, with which bprun sweep skips a trial) if the model has more than `most`
// parameters. 0: any number will do.
void check_size(const Bert& model, std::int64_t most);

}  // namespace bp::trainer
