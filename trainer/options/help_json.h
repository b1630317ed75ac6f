// Writes --help=json. Include it only in .cc files, because it includes a large header.
#pragma once

#include <string>

#include "trainer/options/option_description.h"
#include "trainer/report/json.h"

namespace bp::trainer {

// Returns what --help=json has of a command; docs/bert_train.md has the layout.
[[nodiscard]] Json to_json(const CommandDescription& command);

// Returns the text of --help=json: an object with the version and these commands.
[[nodiscard]] std::string help_json(const Json& commands);

}  // namespace bp::trainer
