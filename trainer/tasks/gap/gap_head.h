// The heads of a model that says which of two names a pronoun stands for. Their outputs are logits,
// [rows, 3], of neither, A and B; their loss is the mean cross entropy over the samples.
#pragma once

#include "trainer/model/head.h"
#include "trainer/tasks/batch_values.h"
#include "trainer/tasks/gap/gap_config.h"

namespace bp::trainer {

struct GapHeadOptions {
  GapHeadKind kind = GapHeadKind::mul;
  BatchIntegers positions = {};  // [rows, 3], of pronoun, A and B; "segment" does not read them
  BatchIntegers labels = {};     // [rows]
};

// No head has dropout. Making a head "segment" throws invalid_argument if the configuration has
// fewer than four token types.
[[nodiscard]] HeadMaker make_gap_head(const GapHeadOptions& options);

}  // namespace bp::trainer
