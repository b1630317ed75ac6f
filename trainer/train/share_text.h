// Rank 0's words on all ranks.
#pragma once

#include <string>
#include <string_view>

#include "bp/communicator.h"

namespace bp::trainer {

// Collective: `text` becomes rank 0's. `name` is for messages.
void share_text(Communicator& world, std::string& text, std::string_view name);

}  // namespace bp::trainer
