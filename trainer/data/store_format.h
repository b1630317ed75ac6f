// The tables of a store, known to its writer and its reader. docs/data.md shows them to users.
#pragma once

#include <string>

#include "trainer/data/sample_store.h"

namespace bp::trainer {

// Marks the file as ours (SQLite's application_id: "bpds").
inline constexpr int kStoreApplication = 0x62706473;
// SQLite's user_version; 0 until the store is complete.
inline constexpr int kStoreVersion = 1;

// One of each per split. position: 0, 1, 2, ... inside the split; tokens: int32, little-endian.
[[nodiscard]] inline std::string samples_table(Split split) {
  return std::string(name_of(split)) + "_samples";
}
[[nodiscard]] inline std::string texts_table(Split split) {
  return std::string(name_of(split)) + "_texts";
}

inline constexpr Split kSplits[] = {Split::train, Split::dev, Split::test};

}  // namespace bp::trainer
