// The parameters of a model, counted part by part.
#pragma once

#include <vector>

#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/report/parameter_table.h"

namespace bp::trainer {

// Returns the parts in the order of the forward pass, with the rates that --layer-decay gives them.
[[nodiscard]] std::vector<ModelPart> parts_of(const Bert& model, const Options& options);

}  // namespace bp::trainer
