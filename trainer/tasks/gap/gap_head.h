// The heads of a model that says which of two names a pronoun stands for. Their outputs are logits,
// [rows, 3], of neither, A and B; their loss is the mean cross entropy over the samples.
#pragma once

#include <string>

#include "trainer/model/bert.h"
#include "trainer/model/head.h"
#include "trainer/tasks/gap/gap_config.h"

namespace bp::trainer {

// They read the batch's arrays kGapLabel and, except "segment", kGapPositions. No head has dropout.
// Making a head "segment" throws invalid_argument if the configuration has fewer than four token
// types.
[[nodiscard]] HeadMaker make_gap_head(GapHeadKind kind);

// A pretrained model has embeddings of two token types, and the head "segment" needs four, with
// another meaning. Sets the embedding of type 0, that of tokens that are not a mention, to the one
// in the file of weights (model.safetensors or pytorch_model.bin), and leaves the others as they
// were drawn. Calls parameters_changed(). Returns false if the file has no such embedding for this
// hidden size. Throws io or invalid_argument, naming the file, if it is broken or the embedding is
// of a type other than F32, F16 and BF16.
[[nodiscard]] bool take_first_token_type(Bert& model, const std::string& path);

}  // namespace bp::trainer
