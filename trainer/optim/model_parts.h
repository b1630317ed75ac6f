// The parts of a model by the names of its parameters: the embeddings, the layers of the encoder,
// and what is above them. Does not use LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/families/encoder_spec.h"

namespace bp::trainer {

// Returns the beginnings of the names of the parameters in `parts`: "embeddings", "encoder" (all
// layers), "pooler", and layers from 0: "3" or "0-3". Throws InputError (2) for another part, and
// for a layer that the model lacks.
[[nodiscard]] std::vector<std::string> frozen_names(const std::vector<std::string>& parts,
                                                    const EncoderSpec& spec);

// Returns how far a parameter is from the top: 0 for the pooler and the head, 1 for the last layer,
// and layers + 1 for the embeddings.
[[nodiscard]] int depth_below_head(std::string_view name, int layers);

// Returns whether a parameter belongs to a layer norm, by what files call such modules.
[[nodiscard]] bool is_of_norm(std::string_view name);

// Returns the number of layers of a model with parameters of these names.
[[nodiscard]] int layers_in(const std::vector<std::string>& names);

}  // namespace bp::trainer
