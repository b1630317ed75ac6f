// The runs that need a store: `<store>.runs` has one line for each, with its folder as seen from
// that of the store, so that both may be moved together. A run that may not write there is not
// listed, but its user may not replace a store in that folder either.
#pragma once

#include <optional>
#include <string>

namespace bp::trainer {

// Adds the run's folder to the list, once. Does nothing if the list cannot be written.
void list_store_user(const std::string& store, const std::string& run);

// Returns the first listed run whose newest checkpoint was made with a store of this identity, or
// "". A run without a checkpoint needs no store: it can start over.
[[nodiscard]] std::string run_that_needs(const std::string& store, const std::string& identity);

// Returns the SampleStore::identity() of the data of the run, by its newest readable checkpoint.
[[nodiscard]] std::optional<std::string> identity_of_data(const std::string& run);

}  // namespace bp::trainer
