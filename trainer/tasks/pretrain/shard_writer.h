// Writes a shard of pre-training (shard_columns.h). All cores compress its blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/common/background.h"
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
  // An instance of one segment gets the label 0. An error of the disk may come in a later call.
  void add(const Instance& instance);
  [[nodiscard]] std::int64_t size() const { return handed_ + waiting_; }

  // Writes what is left, syncs the file and moves it to its name. Throws io.
  void keep();

 private:
  using Rows = std::array<std::vector<char>, kShardColumns>;
  struct Column {
    Hdf5Handle data_set = {};
    std::size_t row_bytes = 0;
  };
  // A compressed chunk. The next one uses its memory again, because the system gives new memory
  // slowly.
  struct Chunk {
    std::vector<char> shuffled = {};
    std::vector<char> room = {};
    std::size_t size = 0;  // of the compressed bytes in `room`
  };
  // The chunks of consecutive rows: those of all columns, then those of the next rows.
  struct Packed {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::size_t used = 0;  // of `chunks`
    std::vector<Chunk> chunks = {};
  };
  void make_column(std::size_t index);
  void start_packing();
  void finish_packing();
  void pack(Rows& rows, Packed& to) const;
  static void shuffle_bytes(std::span<const char> numbers, std::vector<char>& shuffled);
  static void compress(std::span<const char> bytes, Chunk& to);
  void write(const Packed& packed);
  void start_writing_to_disk() const;
  [[noreturn]] void fail() const;

  std::string path_;
  std::string part_;
  ShardWidths widths_;
  std::int64_t chunk_rows_ = 0;
  Hdf5Handle file_;
  std::array<Column, kShardColumns> columns_;
  Rows rows_;                 // that are not packed yet
  std::int64_t waiting_ = 0;  // their number
  std::int64_t handed_ = 0;   // the number of those before them
  Packed written_;            // that are packed, and written last

  // Packs rows while add() takes more and writes those before. Only this thread uses these members
  // while it runs.
  Background packer_{"bp-shard"};
  Rows packer_rows_;
  Packed packed_;

  bool kept_ = false;
};

}  // namespace bp::trainer
