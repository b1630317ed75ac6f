// What preparers that were killed left beside a store: `<store>.part-<token of their lease>`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trainer/data/plan.h"
#include "trainer/data/store_writer.h"

namespace bp::trainer {

// Where the holder of the lease with this token writes.
[[nodiscard]] std::string part_path(const std::string& store, const std::string& token);

// A writer at `part` that goes on with the longest leftover that `plan` would have made; null where
// there is none. `say` is told what becomes of those that there are. To be called with the lease
// held.
//
// It goes on with a copy: should the leftover's maker have been suspended only, the two write to
// different files. A copy of what is being written is found out by its hash.
[[nodiscard]] std::unique_ptr<StoreWriter> take_up_leftover(
    const Plan& plan, const std::string& part, const std::function<void(const std::string&)>& say);

// Removes all of them but `part`.
void remove_leftovers(const std::string& store, const std::string& part);

}  // namespace bp::trainer
