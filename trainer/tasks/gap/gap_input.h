// Makes samples of rows for the task "gap". Does not use LibTorch.
#pragma once

#include <cstddef>

#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

// The order of the arrays. A sample has token types too, the last array, if the head needs them.
enum GapArray : std::size_t {
  kGapLabel,      // 0: neither, 1: A, 2: B; -1: the row does not say
  kGapGender,     // the pronoun's
  kGapPositions,  // of pronoun, A and B
  kGapId,         // the bytes of the row's ID
};

// Returns the head to train, of an input that make_gap_input() has returned.
[[nodiscard]] GapHeadKind gap_head_to_train(const TaskInput& input);

}  // namespace bp::trainer
