// A split in which each class has its share of train, dev and test.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/data/sample_store.h"
#include "trainer/data/strata.h"

namespace bp::trainer {

// Returns the split of each row, so that `dev` and `test` rows are in those splits. Of each class
// they hold its share of the rows, rounded: the classes with the largest remainders get one row
// more. The last row of a class goes to train if the numbers permit it. Which rows of a class go
// where depends on the seed alone.
[[nodiscard]] std::vector<Split> stratified(const Strata& strata,
                                            std::int64_t dev,
                                            std::int64_t test,
                                            std::uint64_t seed);

}  // namespace bp::trainer
