// The format of a store, shared by its writer and its reader. docs/data.md describes the tables to
// users.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/sample_store.h"

namespace bp::trainer {

// Marks the file as a store of bert_train (SQLite's application_id: "bpds").
inline constexpr int kStoreApplication = 0x62706473;
// SQLite's user_version; negative until the store is complete.
inline constexpr int kStoreVersion = 3;
// The version before it is read as well: see store_tables.cc.
inline constexpr int kOlderStoreVersion = 2;

// There is one of each table per split. position: 0, 1, 2, ... within the split; tokens, and arrays
// of several integers: int32, little-endian; arrays of several real numbers: doubles.
[[nodiscard]] inline std::string samples_table(Split split) {
  return std::string(name_of(split)) + "_samples";
}
[[nodiscard]] inline std::string texts_table(Split split) {
  return std::string(name_of(split)) + "_texts";
}

inline constexpr Split kSplits[] = {Split::train, Split::dev, Split::test};

// The settings of the whole store, written before the first sample.
struct StoreSettings {
  int version = kStoreVersion;
  std::string task;                // its name
  SampleSchema schema;             // what samples hold besides tokens
  std::vector<std::string> names;  // what the task's integers stand for, from 0
  std::vector<std::string> vocabulary;
  bool lower_case = true;
  int max_length = 0;
  std::vector<std::pair<std::string, std::string>> fingerprint;  // see plan.h
  std::vector<std::int64_t> source_rows;                         // number of rows of each source
};

}  // namespace bp::trainer
