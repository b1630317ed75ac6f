// Finds out whether a JSON lines file has the keys of text and label.
#pragma once

#include "trainer/data/table.h"

namespace bp::trainer {

// Reads at most 1000 rows. Throws InputError as inspect_table() does.
[[nodiscard]] JsonKeys find_json_keys(const TableQuestion& question);

}  // namespace bp::trainer
