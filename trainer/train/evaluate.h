// The exact score of a split. The ranks score each sample once, and the result is the same for any
// number of ranks and threads.
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
  std::vector<float> probabilities;  // [samples, labels], in the store's order; of all ranks
  bool stopped = false;              // a rank was asked to stop: the rest is not valid
};

// Collective. The split is cut into blocks of samples that do not depend on the ranks; each rank
// scores a contiguous share of the blocks. `label_map`: the model's class of each of the store's
// labels. If a signal asks a rank to stop, all ranks end early.
[[nodiscard]] Evaluation evaluate(Communicator& world,
                                  const Bert& model,
                                  const SampleStore& store,
                                  Split split,
                                  const std::vector<int>& label_map);

// Returns the model's class of each of the store's labels. Throws InputError (65) for a label that
// the model does not have.
[[nodiscard]] std::vector<int> map_labels(const SampleStore& store, const Bert& model);

// Returns the model's class of a sample, or -1 if the sample has no label.
[[nodiscard]] int class_of(const Sample& sample, const std::vector<int>& label_map);
[[nodiscard]] int most_probable(std::span<const float> probabilities);

}  // namespace bp::trainer
