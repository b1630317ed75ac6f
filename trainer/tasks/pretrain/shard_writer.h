// Writes a shard of pre-training (shard_columns.h). All cores compress its blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/hdf5.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/tasks/pretrain/shard_columns.h"

namespace bp::trainer {

class ShardWriter {
 public:
  // Writes at `path`.part, which keep() moves to `path`. Throws io if the file cannot be made.
  ShardWriter(std::string path, const ShardWidths& widths);
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ~ShardWriter();  // removes the part unless keep() has succeeded

  // Throws invalid_argument if the instance has more tokens or masked ones than the shard, and io.
  // An instance of one segment gets the label 0.
  void add(const Instance& instance);
  [[nodiscard]] std::int64_t size() const { return written_ + waiting_; }

  // Writes what is left, syncs the file and moves it to its name. Throws io.
  void keep();

 private:
  struct Column {
    Hdf5Handle data_set = {};
    std::size_t row_bytes = 0;
    std::vector<char> rows = {};  // that are not written yet
  };
  void make_column(std::size_t index);
  void write_waiting();
  void write_chunk(const Column& column, std::int64_t row, const std::vector<char>& packed);
  [[noreturn]] void fail() const;

  std::string path_;
  std::string part_;
  ShardWidths widths_;
  std::int64_t chunk_rows_ = 0;
  Hdf5Handle file_;
  std::array<Column, kShardColumns> columns_;
  std::int64_t written_ = 0;  // rows
  std::int64_t waiting_ = 0;
  bool kept_ = false;
};

}  // namespace bp::trainer
