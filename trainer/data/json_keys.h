// Finds out whether a JSON lines file has the keys of the fields.
#pragma once

#include <string>
#include <vector>

#include "trainer/data/table.h"

namespace bp::trainer {

// Returns the key of each field. Reads at most 1000 rows. Throws InputError as inspect_table()
// does.
[[nodiscard]] std::vector<std::string> find_json_keys(const TableQuestion& question);

}  // namespace bp::trainer
