// Lists fields for a message.
#pragma once

#include <string>
#include <vector>

#include "trainer/data/task_data.h"

namespace bp::trainer {

// Returns the options that name the columns: "--text and --label".
[[nodiscard]] std::string options_of(const std::vector<Field>& fields);

// Returns "it needs a text and a label per row".
[[nodiscard]] std::string needed_text(const std::vector<Field>& fields);

}  // namespace bp::trainer
