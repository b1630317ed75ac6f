// Gradual unfreezing (Howard and Ruder 2018): a run begins with the head and the pooler alone, and
// trains one more layer from the top down after each span; the embeddings come last.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/data/sampler.h"
#include "trainer/model/bert.h"
#include "trainer/options/save_every.h"

namespace bp::trainer {

// All is a function of the place in the run, so all ranks and a resumed run do the same.
class GradualUnfreezing {
 public:
  // `every`: steps or epochs, or never for a run that trains all from the beginning. `rows`: of an
  // epoch. Parameters that require no gradient now stay as they are. `model` must outlive this
  // object, which must be made after the optimizer.
  GradualUnfreezing(const Bert& model, const SaveEvery& every, std::int64_t rows);
  // All parameters are as they were before.
  ~GradualUnfreezing();
  GradualUnfreezing(const GradualUnfreezing&) = delete;
  GradualUnfreezing& operator=(const GradualUnfreezing&) = delete;

  // Freezes and unfreezes what the step needs that begins at this place. Between windows only.
  void apply(std::int64_t step, const EpochPosition& position) const;

 private:
  [[nodiscard]] std::int64_t spans_done(std::int64_t step, const EpochPosition& position) const;

  SaveEvery every_;
  std::int64_t rows_;
  std::vector<std::pair<int, at::Tensor>> parameters_;  // with their distance from the head
};

}  // namespace bp::trainer
