// Reads all texts and samples of a store and hashes them. Every function throws SQLite::Exception,
// whose text says what is wrong but does not name the file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "trainer/data/content_hash.h"
#include "trainer/data/sample_schema.h"

namespace SQLite {
class Database;
}

namespace bp::trainer {

struct StoreRows {
  std::array<std::int64_t, 3> samples{};  // indexed by split
  std::int64_t texts = 0;
  std::int64_t last_sample_id = 0;
};

// Adds every text and sample of a store with this schema to `hash`. Throws unless the positions are
// 0, 1, 2, ...
StoreRows hash_rows(SQLite::Database& database, const SampleSchema& schema, ContentHash& hash);

// Does the same on several threads, each of which uses connections that `connect` returns.
using Connect = std::function<SQLite::Database()>;
StoreRows hash_rows_in_parallel(const Connect& connect,
                                const SampleSchema& schema,
                                ContentHash& hash);

}  // namespace bp::trainer
