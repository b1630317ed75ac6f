// A rank's own copy of memory that the ranks of a host share.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bp/communicator.h"
#include "bp/export.h"

namespace BP_API bp {

// Returns memory of this process alone with the content of `shared`, all of a Buffer that this
// communicator's allocate_shared() has returned, which must last as long. A page takes memory once
// this process writes it. Until then what another rank writes to `shared` shows here, too, so no
// rank may. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte> copy_on_write(Communicator& comm,
                                                       std::span<std::byte> shared);

}  // namespace bp
