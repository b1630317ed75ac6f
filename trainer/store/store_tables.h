// The format of a store, and the SQL that its writer and its reader share. docs/data.md describes
// the tables to users. Every function throws SQLite::Exception, whose text says what is wrong but
// does not name the file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/store/sample_schema.h"
#include "trainer/store/sample_store.h"

namespace SQLite {
class Database;
}

namespace bp::trainer {

// The columns of a store's tables of samples, in their order, without the first one, which is the
// position.
struct SampleColumn {
  enum class Kind : std::uint8_t { integer, real, bytes };
  std::string name;
  Kind kind = Kind::integer;

  [[nodiscard]] const char* sql_type() const {
    constexpr const char* kNames[] = {"INTEGER", "REAL", "BLOB"};
    return kNames[static_cast<std::size_t>(kind)];
  }
};

// Returns sample_id and text_id, the arrays of one value, tokens, and the other arrays.
[[nodiscard]] inline std::vector<SampleColumn> sample_columns(const SampleSchema& schema) {
  using Kind = SampleColumn::Kind;
  std::vector<SampleColumn> columns = {{"sample_id"}, {"text_id"}};
  for (const ArrayField& field : schema) {
    if (field.shape != Shape::one) continue;
    columns.push_back({field.name, field.element == Element::real ? Kind::real : Kind::integer});
  }
  columns.push_back({"tokens", Kind::bytes});
  for (const ArrayField& field : schema) {
    if (field.shape != Shape::one) columns.push_back({field.name, Kind::bytes});
  }
  return columns;
}

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
  std::string tokenizer = {};  // its tokenizer.json; empty: BERT's of this vocabulary and case
  std::int32_t pad_id = 0;
  bool lower_case = true;
  int max_length = 0;
  std::vector<std::pair<std::string, std::string>> fingerprint;  // see plan.h
  std::vector<std::int64_t> source_rows;                         // number of rows of each source
};

void make_tables(SQLite::Database& database, const SampleSchema& schema);

void put_settings(SQLite::Database& database, const StoreSettings& settings);
// Also reads a store of kOlderStoreVersion, which only the task of its time can have made.
[[nodiscard]] StoreSettings get_settings(SQLite::Database& database);

// Write and read one value by its key; an absent key reads as "".
void put_value(SQLite::Database& database, const std::string& key, const std::string& value);
[[nodiscard]] std::string get_value(SQLite::Database& database, const std::string& key);

}  // namespace bp::trainer
