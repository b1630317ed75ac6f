// The files that killed preparers left next to a store: `<store>.part-<token of their lease>`.
#pragma once

#include <memory>
#include <string>

#include "trainer/common/say.h"
#include "trainer/prepare/plan.h"
#include "trainer/store/store_writer.h"

namespace bp::trainer {

// Returns the path to which the holder of the lease with this token writes.
[[nodiscard]] std::string part_path(const std::string& store, const std::string& token);

// Returns a writer at `part` that continues the longest leftover that has the same fingerprint as
// `plan`; null if there is none. Calls `say` with what it does with each leftover. The caller must
// hold the lease.
//
// The writer continues a copy: if the maker of the leftover was only suspended, the two write to
// different files. The hash shows if the copy was made while the file was being written.
[[nodiscard]] std::unique_ptr<StoreWriter> continue_leftover(const Plan& plan,
                                                             const std::string& part,
                                                             const Say& say);

// Removes all leftovers except `part` and its journal.
void remove_leftovers(const std::string& store, const std::string& part);

}  // namespace bp::trainer
