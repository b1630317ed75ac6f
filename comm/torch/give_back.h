#pragma once

#include <cstddef>
#include <span>

namespace bp {

// Frees the whole pages of memory, of this process or shared, which read as zeros then. Where the
// kernel does not do that, they stay.
void give_back(std::span<std::byte> memory) noexcept;

}  // namespace bp
