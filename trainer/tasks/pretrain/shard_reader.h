// Reads a shard of pre-training (shard_columns.h) of bp, NVIDIA or h5py, in blocks of rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/hdf5.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/tasks/pretrain/shard_columns.h"

namespace bp::trainer {

class ShardReader {
 public:
  // `vocabulary`: the number of tokens that ids must be below. Throws InputError: 66 if the file
  // cannot be opened; 65 if it is not an HDF5 file, or a data set is missing or of another form.
  ShardReader(std::string path, std::int64_t vocabulary);

  [[nodiscard]] std::int64_t size() const { return rows_; }
  [[nodiscard]] const ShardWidths& widths() const { return widths_; }

  // Moves to the next row and returns true, or false at the end. Throws InputError (65), naming the
  // row, for numbers that no instance can have, and for a file that is broken there.
  bool next();
  // The current row, until next(). An instance without tokens of the second segment has
  // NextSentence::none. Masks end at the first position that is 0.
  [[nodiscard]] Instance instance() const;

 private:
  struct Column {
    Hdf5Handle data_set = {};
    int width = 0;
    std::vector<std::int32_t> numbers = {};  // of the block
  };
  void open_column(std::size_t index);
  void read_block();
  void read_column(std::size_t index, std::int64_t rows);
  void check_row();
  void check_masks(std::size_t tokens);
  [[nodiscard]] std::span<const std::int32_t> row_of(ShardColumn which) const;
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_row(const std::string& what) const;

  std::string path_;
  std::int64_t vocabulary_;
  Hdf5Handle file_;
  std::array<Column, kShardColumns> columns_;
  ShardWidths widths_;
  std::int64_t rows_ = 0;
  std::int64_t next_row_ = 0;     // the number of rows that next() has moved over
  std::int64_t block_begin_ = 0;  // the block's first row
  std::int64_t block_end_ = 0;
  std::size_t tokens_ = 0;  // of the current row
  std::size_t masked_ = 0;
  std::int32_t first_ = 0;
};

// Returns whether the name is that of a shard: it ends with .hdf5 or .h5.
[[nodiscard]] bool is_shard_name(const std::string& path);

// Returns the shards of a path, sorted by name:
// - of a file with such a name: this one;
// - of a folder: its shards, without those whose names contain "test" if others exist, because
//   NVIDIA's script puts both kinds into one folder;
// - of any other path: the shards whose names begin with it ("shards/wiki_test").
// Empty: the path is none of these.
[[nodiscard]] std::vector<std::string> shard_files(const std::string& path);

}  // namespace bp::trainer
