// Which gradients training computes, and in which form.
#pragma once

#include <string>
#include <vector>

#include "trainer/model/bert.h"

namespace bp::trainer {

// From here on, the parameters in `parts` (see frozen_names(), trainer/optim) require no gradient:
// no backward pass computes one, no optimizer has them, and none travels between ranks. Throws what
// frozen_names() throws, and InputError (2) for a part in which a model with adapters has none.
void freeze(Bert& model, const std::vector<std::string>& parts);

// Freezes the parts, and lets the gradients of the others be sparse where that is possible.
void choose_gradients(Bert& model, const std::vector<std::string>& frozen);

}  // namespace bp::trainer
