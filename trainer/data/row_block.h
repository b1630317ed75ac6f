// Consecutive kept rows of the sources, as they were read, for another thread to encode. They
// become one block of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/store_block.h"

namespace bp::trainer {

struct KeptRow {
  std::size_t source = 0;
  std::int64_t number = 0;  // of the row in its source, from 1
  std::int64_t place = 0;   // its number among the kept rows of the source
  std::string_view text;
  std::string_view label;
};

class RowBlock {
 public:
  // Copies the row's text and label.
  void add(const KeptRow& row);
  void clear();

  [[nodiscard]] bool full() const { return size_.full(); }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  // Valid until add() or clear().
  [[nodiscard]] KeptRow operator[](std::size_t index) const;

 private:
  struct Row {
    KeptRow row;  // without its texts
    std::size_t begin = 0;
    std::size_t text_size = 0;
    std::size_t label_size = 0;
  };

  BlockSize size_;
  std::vector<Row> rows_;
  std::string bytes_;  // text and label of each row
};

}  // namespace bp::trainer
