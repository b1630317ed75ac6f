// The exact score of a split. The ranks score each sample once, and the result is the same for any
// number of ranks and threads. Ranks that are ready take the next samples, so none waits for a slow
// one.
#pragma once

#include <cstdint>
#include <vector>

#include "bp/communicator.h"
#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"
#include "trainer/prepare/task_data.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/task.h"

namespace bp::trainer {

// Collective. Adds the results of the split to `scorer`, which has none yet. The split is cut into
// blocks of samples that do not depend on the ranks, which take the next blocks in turns by a
// counter in the job's store. If a signal asks a rank to stop, all ranks end early and return
// false; the results are then not valid. `task`: the store's, which completes the blocks. Where
// passes enter layers together (Encoder::before_layers()), each rank has a contiguous share
// instead, and all make equally many, each one after another.
[[nodiscard]] bool evaluate(Communicator& world,
                            const Bert& model,
                            const TaskData& task,
                            const SampleStore& store,
                            Split split,
                            Scorer& scorer);

// Returns the first blocks of the split, at most `most`.
[[nodiscard]] std::vector<Batch> first_blocks(const TaskData& task,
                                              const SampleStore& store,
                                              Split split,
                                              std::int64_t most);

}  // namespace bp::trainer
