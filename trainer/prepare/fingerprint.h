// The fingerprint of a preparation: what a store must have in common with a plan to be reused.
#pragma once

#include <string>

#include "trainer/prepare/plan.h"

namespace bp::trainer {

// Reads the data files and the vocabulary for their hashes. `plan` has all but its fingerprint.
[[nodiscard]] Fingerprint make_fingerprint(const Plan& plan);

// Returns whether the data file itself divided the rows of a store with this fingerprint.
[[nodiscard]] bool is_divided_by_data(const Fingerprint& stored);

// Returns "max length is 128 there, 64 here; ..."; "" if the fingerprints are equal.
[[nodiscard]] std::string difference(const Fingerprint& stored, const Fingerprint& wanted);

// Returns whether the value of this key of the plan's fingerprint is the content of a data file.
[[nodiscard]] bool is_source_key(const Plan& plan, const std::string& key);

// Returns "the data file reviews.csv has changed (1,200 bytes, XXH3 ... then, 1,234 bytes, XXH3 ...
// now)" if only the content of source files differs, else "".
[[nodiscard]] std::string changed_source(const Fingerprint& stored, const Plan& plan);

}  // namespace bp::trainer
