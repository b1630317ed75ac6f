// Texts, whose length only their owner knows, between the ranks of a communicator. Collective; each
// is two operations called `name`, the lengths and the bytes. Both throw what those throw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bp/communicator.h"

namespace bp {

// Those of all ranks, by rank, on all ranks.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator& comm,
                                                    std::string_view mine,
                                                    std::string_view name);

// Afterwards `text` is `root`'s on all ranks.
void broadcast_text(Communicator& comm, std::string& text, int root, std::string_view name);

}  // namespace bp
