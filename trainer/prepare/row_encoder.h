// Encodes rows of a source as texts and samples of a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/prepare/plan.h"
#include "trainer/prepare/survey.h"
#include "trainer/prepare/task_data.h"
#include "trainer/store/store_block.h"

namespace bp::trainer {

// Consecutive kept rows of the sources, as they were read, for another thread to encode. They
// become one block of the store.
struct KeptRow {
  std::size_t source = 0;
  std::int64_t number = 0;  // of the row in its source, from 1
  std::int64_t place = 0;   // its number among the kept rows of the source
};

class RowBlock {
 public:
  // Copies the fields. `text`: the row's, by which the size of blocks is measured.
  void add(const KeptRow& row, std::string_view text, Fields fields);
  void clear();

  [[nodiscard]] bool full() const { return size_.full(); }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  [[nodiscard]] const KeptRow& operator[](std::size_t index) const { return rows_[index].row; }
  // Returns the fields of a row, valid until the next call of any function.
  [[nodiscard]] Fields fields(std::size_t index);

 private:
  struct Row {
    KeptRow row;
    std::size_t first_byte = 0;   // in bytes_
    std::size_t first_field = 0;  // in sizes_
  };

  BlockSize size_;
  std::vector<Row> rows_;
  std::vector<std::size_t> sizes_;  // of each field of each row
  std::string bytes_;               // the fields
  std::vector<std::string_view> shown_;
};

// Replaces the content of `block` by the rows' texts and samples. Throws InputError, naming the
// row, if the task refuses it.
void encode(const Plan& plan,
            const ChosenRows& chosen,
            SampleMaker& maker,
            RowBlock& rows,
            StoreBlock& block);

}  // namespace bp::trainer
