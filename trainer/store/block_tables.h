// Shows the rows of a StoreBlock to SQLite as two tables, so that one statement inserts all of
// them: "INSERT INTO train_texts SELECT * FROM block_texts". That takes half the time of a
// statement per row.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/store/store_tables.h"

struct sqlite3;

namespace bp::trainer {

class BlockTables {
 public:
  // Adds block_texts(text_id, text) and block_samples(position, ...) with the columns of samples to
  // the connection. Must outlive it. Throws SQLite::Exception.
  BlockTables(sqlite3* database, std::vector<SampleColumn> sample_columns);
  BlockTables(const BlockTables&) = delete;
  BlockTables& operator=(const BlockTables&) = delete;

  // Sets the rows of block_texts, as StoreBlock::text_rows() returns them. They must stay unchanged
  // while SQLite reads them.
  void show_texts(std::string_view rows) { texts_.rows = rows; }
  // Sets the rows of block_samples likewise, with the position of the first one.
  void show_samples(std::string_view rows, std::int64_t position) {
    samples_.rows = rows;
    samples_.position = position;
  }

  struct Table {
    bool numbered = false;  // its first column is the position, which the rows do not hold
    std::vector<SampleColumn> columns;
    std::string_view rows = {};
    std::int64_t position = 0;
  };

 private:
  Table texts_;
  Table samples_;
};

}  // namespace bp::trainer
