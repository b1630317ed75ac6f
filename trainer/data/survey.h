// The first reading of the sources. It finds everything that can be wrong with them before anything
// is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/plan.h"
#include "trainer/data/repeated_texts.h"
#include "trainer/data/row_set.h"
#include "trainer/data/strata.h"

namespace bp::trainer {

struct Survey {
  std::vector<std::int64_t> rows;  // number of rows of each source
  std::int64_t all_rows = 0;
  std::vector<std::string> names;    // of the task: see RowSurvey
  std::vector<std::string> remarks;  // of the task, for the user
  RowSet left_out;                   // by the task's options; numbered from 0 across all sources
  Strata strata;                     // with --stratify: of the first source's rows
  std::optional<TextRows> texts;     // of all sources, without the rows that are left out
};

// Throws InputError 65: what RowSource throws, no rows, and what the task's RowSurvey throws.
[[nodiscard]] Survey survey(const Plan& plan);

}  // namespace bp::trainer
