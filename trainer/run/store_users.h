// Which runs need a store: `<store>.runs`, a line with each run's folder. A run that cannot write
// there is not listed, but nor could this user replace a store in such a folder.
#pragma once

#include <optional>
#include <string>

namespace bp::trainer {

// Adds the run's folder to the list, once. Does nothing where the list cannot be written.
void list_store_user(const std::string& store, const std::string& run);

// The first listed run whose newest checkpoint was made with a store of this identity; "" when none
// was. A run without a checkpoint has nothing to lose.
[[nodiscard]] std::string run_that_needs(const std::string& store, const std::string& identity);

// SampleStore::identity() of what the run was trained on, by its newest readable checkpoint.
[[nodiscard]] std::optional<std::string> identity_of_data(const std::string& run);

}  // namespace bp::trainer
