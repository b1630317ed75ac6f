// The rows of several files, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/data/row_reader.h"

namespace bp::trainer {

class RowSequence : public RowReader {
 public:
  // Opens a file when its rows are next.
  using Open = std::function<std::unique_ptr<RowReader>()>;

  // `limit`: reads only the first rows of each file; 0: all.
  explicit RowSequence(std::vector<Open> files, std::int64_t limit = 0);

  bool next() override;
  [[nodiscard]] Fields fields() const override { return rows_->fields(); }
  // Rows count on from file to file.
  [[nodiscard]] std::int64_t number() const override {
    return before_ + (rows_ ? rows_->number() : 0);
  }
  [[nodiscard]] std::string place() const override { return rows_->place(); }
  [[nodiscard]] std::size_t file() const { return file_; }  // of the current row

 private:
  std::vector<Open> files_;
  std::int64_t limit_;
  std::size_t file_ = 0;
  std::int64_t before_ = 0;  // rows of earlier files
  std::unique_ptr<RowReader> rows_;
};

}  // namespace bp::trainer
