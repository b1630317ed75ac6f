// The parameters of a model, counted part by part.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/report/parameter_table.h"

namespace bp::trainer {

// Returns the parts in the order of the forward pass, with the rates that --layer-decay gives them.
[[nodiscard]] std::vector<ModelPart> parts_of(const Bert& model, const Options& options);

// Returns the number of all parameters, also of those that are frozen.
[[nodiscard]] std::int64_t count_all_parameters(const Bert& model);

// Throws InputError (77, with which bprun sweep skips a trial) if the model has more than `most`
// parameters. 0: any number will do.
void check_size(const Bert& model, std::int64_t most);

}  // namespace bp::trainer
