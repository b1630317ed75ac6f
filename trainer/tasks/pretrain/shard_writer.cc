#include "trainer/tasks/pretrain/shard_writer.h"

#include <fcntl.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/parallel.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

// A chunk is the unit in which HDF5 compresses and reads. Its size is half of the library's cache,
// so that readers of single rows find theirs there.
constexpr std::int64_t kChunkBytes = std::int64_t{512} << 10;
constexpr std::int64_t kChunksAtOnce = 16;
// What the file says of its compression, as h5py does by default; readers do not need it.
constexpr unsigned kStatedLevel = 4;

template <class Number>
void put(std::vector<char>& rows, std::size_t at, std::span<const std::int32_t> numbers) {
  for (const std::int32_t number : numbers) {
    const auto value = static_cast<Number>(number);
    std::memcpy(rows.data() + at, &value, sizeof(value));
    at += sizeof(value);
  }
}

}  // namespace

ShardWriter::ShardWriter(std::string path, const ShardWidths& widths)
    : path_(std::move(path)),
      part_(path_ + ".part"),
      widths_(widths),
      chunk_rows_(std::max<std::int64_t>(
          1, kChunkBytes / (std::int64_t{4} * std::max(widths.tokens, widths.masked)))) {
  prepare_hdf5();
  file_ = Hdf5Handle(H5Fcreate(part_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!file_.valid()) fail();
  for (std::size_t i = 0; i < kShardColumns; ++i) make_column(i);
}

ShardWriter::~ShardWriter() {
  packer_.join();
  if (kept_) return;
  for (Column& column : columns_) (void)column.data_set.close();
  (void)file_.close();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void ShardWriter::fail() const {
  const Hdf5Failure failure = hdf5_failure();
  if (failure.error_number != 0) fail_to_write(part_, failure.error_number, kChunkBytes);
  throw Error(ErrorCode::io, concat("cannot write ", part_, ": ", failure.reason));
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
      (is_wide(which) && H5Pset_shuffle(options.get()) < 0) ||
      H5Pset_deflate(options.get(), kStatedLevel) < 0) {
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
  for (std::size_t c = 0; c < kShardColumns; ++c) {
    rows_[c].resize(rows_[c].size() + columns_[c].row_bytes);
  }
  const auto rows = [&](ShardColumn which) -> std::vector<char>& {
    return rows_[static_cast<std::size_t>(which)];
  };
  const auto begin = [&](ShardColumn which) {
    return rows(which).size() - columns_[static_cast<std::size_t>(which)].row_bytes;
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
  if (++waiting_ == chunk_rows_ * kChunksAtOnce) start_packing();
}

// Writes the rows that were packed before, while the packer works on these.
void ShardWriter::start_packing() {
  finish_packing();
  std::swap(rows_, packer_rows_);
  for (std::vector<char>& rows : rows_) rows.clear();
  packed_.first = std::exchange(handed_, handed_ + waiting_);
  packed_.count = std::exchange(waiting_, 0);
  packer_.start([this] { pack(packer_rows_, packed_); });
  write(written_);
}

// Moves the packed rows to written_.
void ShardWriter::finish_packing() {
  packer_.wait();
  std::swap(packed_, written_);
  packed_.used = 0;
}

// Compresses all chunks at once. A chunk has its full size, also at the end.
void ShardWriter::pack(Rows& rows, Packed& to) const {
  const auto chunks = static_cast<std::size_t>((to.count + chunk_rows_ - 1) / chunk_rows_);
  const auto chunk_bytes = [&](std::size_t column) {
    return static_cast<std::size_t>(chunk_rows_) * columns_[column].row_bytes;
  };
  for (std::size_t c = 0; c < kShardColumns; ++c) rows[c].resize(chunks * chunk_bytes(c));
  to.used = chunks * kShardColumns;
  to.chunks.resize(std::max(to.chunks.size(), to.used));
  run_in_parallel(to.used, [&](std::size_t i) {
    const std::size_t column = i % kShardColumns;
    const std::size_t size = chunk_bytes(column);
    const auto plain = std::span(rows[column]).subspan(i / kShardColumns * size, size);
    Chunk& chunk = to.chunks[i];
    const bool wide = is_wide(static_cast<ShardColumn>(column));
    if (wide) shuffle_bytes(plain, chunk.shuffled);
    compress(wide ? std::span<const char>(chunk.shuffled) : plain, chunk);
  });
}

// Puts the first bytes of all int32 in front, then the second ones, and so on, as HDF5's filter
// "shuffle" does: most of the upper bytes are 0, and pack well.
void ShardWriter::shuffle_bytes(std::span<const char> numbers, std::vector<char>& shuffled) {
  constexpr std::size_t kBytes = sizeof(std::int32_t);
  const std::size_t count = numbers.size() / kBytes;
  shuffled.resize(numbers.size());
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    char* to = shuffled.data() + byte * count;
    for (std::size_t i = 0; i < count; ++i) to[i] = numbers[i * kBytes + byte];
  }
}

// Token ids and the bits of masks repeat a byte or nothing, so zlib need not search for longer
// matches: at h5py's level without the shuffled bytes it takes three times as long for 1.2 times
// the size.
void ShardWriter::compress(std::span<const char> bytes, Chunk& to) {
  z_stream stream{};
  if (::deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL, Z_RLE) != Z_OK) {
    throw std::bad_alloc();
  }
  to.room.resize(::deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(to.room.data());
  stream.avail_out = static_cast<uInt>(to.room.size());
  const int end = ::deflate(&stream, Z_FINISH);
  to.size = stream.total_out;
  (void)::deflateEnd(&stream);
  BP_CHECK(end == Z_STREAM_END, "the bound of zlib is too small");
}

// Hands the chunks to the library, which only stores them.
void ShardWriter::write(const Packed& packed) {
  for (std::size_t i = 0; i < packed.used; ++i) {
    const std::size_t column = i % kShardColumns;
    const hid_t data_set = columns_[column].data_set.get();
    const auto width = static_cast<hsize_t>(width_of(static_cast<ShardColumn>(column), widths_));
    const hsize_t size[] = {static_cast<hsize_t>(packed.first + packed.count), width};
    if (i < kShardColumns && H5Dset_extent(data_set, size) < 0) fail();
    const std::int64_t row =
        packed.first + static_cast<std::int64_t>(i / kShardColumns) * chunk_rows_;
    const hsize_t place[] = {static_cast<hsize_t>(row), 0};
    const Chunk& chunk = packed.chunks[i];
    if (H5Dwrite_chunk(data_set, H5P_DEFAULT, 0, place, chunk.size, chunk.room.data()) < 0) fail();
  }
  start_writing_to_disk();
}

// keep() then finds most of the file on disk. It is only sooner ready so, hence no error matters.
void ShardWriter::start_writing_to_disk() const {
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &descriptor) < 0) return;
  (void)::sync_file_range(*static_cast<int*>(descriptor), 0, 0, SYNC_FILE_RANGE_WRITE);
}

void ShardWriter::keep() {
  if (waiting_ > 0) start_packing();
  finish_packing();
  write(written_);
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
