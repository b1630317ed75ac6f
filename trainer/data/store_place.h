// Which file holds the store of a plan that names none. Stores of one data file that were made with
// different options lie beside each other: the first one has the name of the data file, and each
// other one also has a hash of its options in its name.
#pragma once

#include <string>

#include "trainer/data/plan.h"

namespace bp::trainer {

// Returns options.store if that names a file. Otherwise returns reviews.sqlite, unless that is a
// store of other options; then reviews-1a2b3c4d.sqlite. A store of the same options whose source
// has changed since is not another one. With --rebuild, a store of other options is to be replaced,
// unless the plan's own store exists beside it. Throws what reading a store throws, except
// StoreError: a file that is no usable store keeps its name.
[[nodiscard]] std::string place_of_store(const Plan& plan);

}  // namespace bp::trainer
