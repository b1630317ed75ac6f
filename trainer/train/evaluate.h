// The exact score of a split over all ranks: each sample once, and the same numbers for any number
// of ranks and threads.
#pragma once

#include <span>
#include <vector>

#include "bp/communicator.h"
#include "trainer/data/sample_store.h"
#include "trainer/model/bert.h"
#include "trainer/report/tally.h"

namespace bp::trainer {

struct Evaluation {
  Tally tally;                       // of samples with a label
  std::vector<float> probabilities;  // [samples, labels], in the store's order; the same everywhere
  bool stopped = false;              // some rank was asked to stop: nothing above is of use
};

// Collective. Ends early, on all ranks alike, when a rank is asked to stop by a signal. The split
// is cut into blocks of samples that do not depend on the ranks; each rank takes a contiguous share
// of the blocks. `label_map`: the model's class of each of the store's labels.
[[nodiscard]] Evaluation evaluate(Communicator& world,
                                  const Bert& model,
                                  const SampleStore& store,
                                  Split split,
                                  const std::vector<int>& label_map);

// The model's class of each of the store's labels. Throws InputError (65) for a label that the
// model does not have.
[[nodiscard]] std::vector<int> map_labels(const SampleStore& store, const Bert& model);

// The model's class of a sample; -1 where it has no label.
[[nodiscard]] int class_of(const Sample& sample, const std::vector<int>& label_map);
[[nodiscard]] int most_probable(std::span<const float> probabilities);

}  // namespace bp::trainer
