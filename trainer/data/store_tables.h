// The SQL that the writer and the reader of a store share. Every function throws SQLite::Exception,
// whose text says what is wrong but does not name the file.
#pragma once

#include <string>

#include "trainer/data/store_format.h"

namespace SQLite {
class Database;
}

namespace bp::trainer {

void make_tables(SQLite::Database& database, const SampleSchema& schema);

void put_settings(SQLite::Database& database, const StoreSettings& settings);
// Also reads a store of kOlderStoreVersion, which only the task of its time can have made.
[[nodiscard]] StoreSettings get_settings(SQLite::Database& database);

// Write and read one value by its key; an absent key reads as "".
void put_value(SQLite::Database& database, const std::string& key, const std::string& value);
[[nodiscard]] std::string get_value(SQLite::Database& database, const std::string& key);

}  // namespace bp::trainer
