// Masks the tokens of a batch.
#pragma once

#include "trainer/data/batch.h"
#include "trainer/tasks/pretrain/masks.h"

namespace bp::trainer {

// Hides tokens, and appends the arrays with their positions and ids: see pretrain_input.h. The
// masks of a sample depend on its id and the draw.
void mask_batch(const Masker& masker, const BatchDraw& draw, Batch& batch);

}  // namespace bp::trainer
