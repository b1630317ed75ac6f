#include "trainer/tasks/pretrain/shard_writer.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/parallel.h"
#include "trainer/data/whole_file.h"

namespace bp::trainer {
namespace {

// A chunk is the unit in which HDF5 compresses and reads. Its size is half of the library's cache,
// so that readers of single rows find theirs there.
constexpr std::int64_t kChunkBytes = std::int64_t{512} << 10;
constexpr std::int64_t kChunksAtOnce = 8;
constexpr int kCompression = 4;  // h5py's

template <class Number>
void put(std::vector<char>& rows, std::size_t at, std::span<const std::int32_t> numbers) {
  for (const std::int32_t number : numbers) {
    const auto value = static_cast<Number>(number);
    std::memcpy(rows.data() + at, &value, sizeof(value));
    at += sizeof(value);
  }
}

std::vector<char> compressed(std::span<const char> bytes) {
  uLongf size = ::compressBound(bytes.size());
  std::vector<char> packed(size);
  if (::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                  reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                  kCompression) != Z_OK) {
    throw Error(ErrorCode::io, "zlib has no memory to compress a block of a shard");
  }
  packed.resize(size);
  return packed;
}

}  // namespace

ShardWriter::ShardWriter(std::string path, const ShardWidths& widths)
    : path_(std::move(path)),
      part_(path_ + ".part"),
      widths_(widths),
      chunk_rows_(std::max<std::int64_t>(
          1, kChunkBytes / (std::int64_t{4} * std::max(widths.tokens, widths.masked)))) {
  silence_hdf5();
  file_ = Hdf5Handle(H5Fcreate(part_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!file_.valid()) fail();
  for (std::size_t i = 0; i < kShardColumns; ++i) make_column(i);
}

ShardWriter::~ShardWriter() {
  if (kept_) return;
  for (Column& column : columns_) (void)column.data_set.close();
  (void)file_.close();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void ShardWriter::fail() const {
  throw Error(ErrorCode::io, concat("cannot write ", part_, ": ", hdf5_reason()));
}

void ShardWriter::make_column(std::size_t index) {
  const auto which = static_cast<ShardColumn>(index);
  const auto width = static_cast<hsize_t>(width_of(which, widths_));
  const int rank = which == ShardColumn::next_sentence_labels ? 1 : 2;
  const hsize_t none[] = {0, width};
  const hsize_t most[] = {H5S_UNLIMITED, width};
  const hsize_t chunk[] = {static_cast<hsize_t>(chunk_rows_), width};
  const Hdf5Handle space(H5Screate_simple(rank, none, most), H5Sclose);
  const Hdf5Handle options(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (H5Pset_chunk(options.get(), rank, chunk) < 0 ||
      H5Pset_deflate(options.get(), kCompression) < 0) {
    fail();
  }
  Column& column = columns_[index];
  column.row_bytes = width * (is_wide(which) ? sizeof(std::int32_t) : sizeof(std::int8_t));
  column.data_set = Hdf5Handle(
      H5Dcreate2(file_.get(), kShardNames[index], is_wide(which) ? H5T_STD_I32LE : H5T_STD_I8LE,
                 space.get(), H5P_DEFAULT, options.get(), H5P_DEFAULT),
      H5Dclose);
  if (!column.data_set.valid()) fail();
}

void ShardWriter::add(const Instance& instance) {
  if (std::cmp_greater(instance.tokens.size(), widths_.tokens) ||
      std::cmp_greater(instance.positions.size(), widths_.masked)) {
    throw Error(
        ErrorCode::invalid_argument,
        concat("an instance of ", instance.tokens.size(), " tokens, ", instance.positions.size(),
               " of them masked, in a shard of ", widths_.tokens, " and ", widths_.masked));
  }
  for (Column& column : columns_) column.rows.resize(column.rows.size() + column.row_bytes);
  const auto begin = [&](ShardColumn which) {
    const Column& column = columns_[static_cast<std::size_t>(which)];
    return column.rows.size() - column.row_bytes;
  };
  const auto rows = [&](ShardColumn which) -> std::vector<char>& {
    return columns_[static_cast<std::size_t>(which)].rows;
  };
  const auto put_wide = [&](ShardColumn which, std::span<const std::int32_t> numbers) {
    put<std::int32_t>(rows(which), begin(which), numbers);
  };
  const auto fill = [&](ShardColumn which, std::size_t first, std::size_t last) {
    std::memset(rows(which).data() + begin(which) + first, 1, last - first);
  };
  put_wide(ShardColumn::input_ids, instance.tokens);
  put_wide(ShardColumn::masked_lm_positions, instance.positions);
  put_wide(ShardColumn::masked_lm_ids, instance.ids);
  fill(ShardColumn::input_mask, 0, instance.tokens.size());
  fill(ShardColumn::segment_ids, static_cast<std::size_t>(instance.first), instance.tokens.size());
  fill(ShardColumn::next_sentence_labels, 0, instance.next == NextSentence::random ? 1 : 0);
  if (++waiting_ == chunk_rows_ * kChunksAtOnce) write_waiting();
}

// Compresses all chunks at once, and hands them to the library, which only stores them. A chunk has
// its full size, also at the end.
void ShardWriter::write_waiting() {
  if (waiting_ == 0) return;
  const auto chunks = static_cast<std::size_t>((waiting_ + chunk_rows_ - 1) / chunk_rows_);
  for (Column& column : columns_) {
    column.rows.resize(chunks * static_cast<std::size_t>(chunk_rows_) * column.row_bytes);
  }
  std::vector<std::vector<char>> packed(chunks * kShardColumns);
  run_in_parallel(packed.size(), [&](std::size_t i) {
    const Column& column = columns_[i % kShardColumns];
    const std::size_t size = static_cast<std::size_t>(chunk_rows_) * column.row_bytes;
    packed[i] = compressed(std::span(column.rows).subspan(i / kShardColumns * size, size));
  });
  const std::int64_t rows = written_ + waiting_;
  for (std::size_t c = 0; c < kShardColumns; ++c) {
    Column& column = columns_[c];
    const auto width = static_cast<hsize_t>(width_of(static_cast<ShardColumn>(c), widths_));
    const hsize_t size[] = {static_cast<hsize_t>(rows), width};
    if (H5Dset_extent(column.data_set.get(), size) < 0) fail();
    for (std::size_t i = 0; i < chunks; ++i) {
      write_chunk(column, written_ + static_cast<std::int64_t>(i) * chunk_rows_,
                  packed[i * kShardColumns + c]);
    }
    column.rows.clear();
  }
  written_ = rows;
  waiting_ = 0;
}

void ShardWriter::write_chunk(const Column& column,
                              std::int64_t row,
                              const std::vector<char>& packed) {
  const hsize_t place[] = {static_cast<hsize_t>(row), 0};
  if (H5Dwrite_chunk(column.data_set.get(), H5P_DEFAULT, 0, place, packed.size(), packed.data()) <
      0) {
    fail();
  }
}

void ShardWriter::keep() {
  write_waiting();
  for (Column& column : columns_) {
    if (!column.data_set.close()) fail();
  }
  if (!file_.close()) fail();
  sync_file(part_);
  if (std::rename(part_.c_str(), path_.c_str()) != 0) fail_to_write(path_, errno, 0);
  kept_ = true;
  sync_folder_of(path_);
}

}  // namespace bp::trainer
