// The heads of a model that says which of two names a pronoun stands for. Their outputs are logits,
// [rows, 3], of neither, A and B; their loss is the mean cross entropy over the samples.
#pragma once

#include <cstdint>

#include "trainer/model/head.h"
#include "trainer/tasks/batch_values.h"

namespace bp::trainer {

enum class GapHeadKind : std::uint8_t {
  // A linear layer over the last states of the pronoun, A and B, one after the other.
  concat,
  // The products of the pronoun's last state with a trained vector, A's state and B's state,
  // divided by the root of the hidden size. The vector's elements begin as standard normal numbers.
  mul,
  // A linear layer over the pooler's output. The batch's token types mark the mentions
  // (gap_token_types()), so the encoder needs four types.
  segment,
};

struct GapHeadOptions {
  GapHeadKind kind = GapHeadKind::mul;
  BatchIntegers positions = {};  // [rows, 3], of pronoun, A and B; "segment" does not read them
  BatchIntegers labels = {};     // [rows]
};

// No head has dropout. Making a head "segment" throws invalid_argument if the configuration has
// fewer than four token types.
[[nodiscard]] HeadMaker make_gap_head(const GapHeadOptions& options);

}  // namespace bp::trainer
