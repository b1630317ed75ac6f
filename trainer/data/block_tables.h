// Shows the rows of a StoreBlock to SQLite as two tables, so that one statement inserts all of
// them: "INSERT INTO train_texts SELECT * FROM block_texts". That takes half the time of a
// statement per row.
#pragma once

#include <cstdint>
#include <string_view>

struct sqlite3;

namespace bp::trainer {

class BlockTables {
 public:
  // Adds block_texts(text_id, text) and block_samples(position, sample_id, text_id, label, tokens)
  // to the connection. Must outlive it. Throws SQLite::Exception.
  explicit BlockTables(sqlite3* database);
  BlockTables(const BlockTables&) = delete;
  BlockTables& operator=(const BlockTables&) = delete;

  // Sets the rows of block_texts, as StoreBlock::text_rows() returns them. They must stay unchanged
  // while SQLite reads them.
  void show_texts(std::string_view rows) { texts_ = {false, rows, 0}; }
  // Sets the rows of block_samples likewise, with the position of the first one.
  void show_samples(std::string_view rows, std::int64_t position) {
    samples_ = {true, rows, position};
  }

  struct Table {
    bool samples = false;
    std::string_view rows;
    std::int64_t position = 0;
  };

 private:
  Table texts_{false, {}, 0};
  Table samples_{true, {}, 0};
};

}  // namespace bp::trainer
