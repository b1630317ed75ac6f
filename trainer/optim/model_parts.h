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

// Return what the names of each layer's parameters begin with, in the order of the forward pass: of
// a model, and of the parameters `names`, which are in this order.
[[nodiscard]] std::vector<std::string> layers_of(const EncoderSpec& spec);
[[nodiscard]] std::vector<std::string> layers_in(const std::vector<std::string>& names);

// Returns how far a parameter is from the top of a model with these layers: 0 for the pooler and
// the head, 1 for the last layer, and one more than the number of layers for the embeddings.
[[nodiscard]] int depth_below_head(std::string_view name, const std::vector<std::string>& layers);

// Returns whether a parameter belongs to a layer norm, by what files call such modules.
[[nodiscard]] bool is_of_norm(std::string_view name);

}  // namespace bp::trainer
