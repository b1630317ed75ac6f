// Reads all texts and samples of a store and hashes them. Every function throws SQLite::Exception,
// whose text says what is wrong but does not name the file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "trainer/common/hash.h"
#include "trainer/store/sample_schema.h"
#include "trainer/store/store_tables.h"

namespace SQLite {
class Database;
}

namespace bp::trainer {

// The identity of a store: equal on two hosts exactly if they hold the same texts and samples, in
// the same order, for the same task with the same names and vocabulary.
class ContentHash {
 public:
  void add_settings(const StoreSettings& settings);
  // Add texts or samples of a split, as a StoreBlock holds them. Within a split, texts must be
  // added in order, and so must samples. Calls for different tables may run at the same time.
  void add_texts(Split split, std::string_view rows);
  void add_samples(Split split, std::string_view rows);
  // Returns the hash of everything added so far. More may be added afterwards.
  [[nodiscard]] std::string hex() const;

 private:
  Hash settings_;
  std::array<Hash, 3> texts_;  // indexed by split
  std::array<Hash, 3> samples_;
};

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
