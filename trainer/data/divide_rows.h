// Divides the rows of a plan's only source into the splits.
#pragma once

#include <optional>

#include "trainer/data/kept_rows.h"
#include "trainer/data/plan.h"
#include "trainer/data/split.h"
#include "trainer/data/strata.h"

namespace bp::trainer {

// Returns nothing if the plan has a source for each split. `strata`: with --stratify, of all rows.
// Throws InputError (65) if a file that divides its rows itself leaves none to train on.
[[nodiscard]] std::optional<RowSplits> divide_rows(const Plan& plan,
                                                   const KeptRows& kept,
                                                   Strata& strata);

}  // namespace bp::trainer
