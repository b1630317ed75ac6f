#include "trainer/tasks/pretrain/shard_reader.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <span>
#include <system_error>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/input/byte_input.h"

namespace bp::trainer {
namespace {

// The child dies silently: without the reports of sanitizers, and without a core file.
[[noreturn]] void run_as_child(const std::function<void()>& action) {
  constexpr unsigned kLongestSeconds = 60;
  for (const int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGALRM}) {
    (void)std::signal(signal, SIG_DFL);
  }
  (void)::prctl(PR_SET_DUMPABLE, 0);
  (void)::alarm(kLongestSeconds);
  action();
  ::_exit(0);
}

// Runs `action`, of a library that may crash, in a child process, and returns false if it crashes
// there or takes a minute. What it does has no effect on this process. It must not throw, and must
// need no other thread. If no process can be started, returns true.
bool survives(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child < 0) return true;
  if (child == 0) run_as_child(action);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return true;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;  // of the widest column
constexpr int kWidest = 1 << 16;
constexpr std::size_t kLargestChunk = std::size_t{64} << 20;
constexpr const char* kHint =
    "bert_train reads the six data sets of NVIDIA's create_pretraining_data.py with fixed sizes";

std::size_t index_of(ShardColumn column) { return static_cast<std::size_t>(column); }

// Of a data set. -1 where the library knows none.
struct DataSetShape {
  int rank = -1;
  hsize_t sizes[2] = {0, 0};
};

DataSetShape shape_of(hid_t data_set) {
  const Hdf5Handle space(H5Dget_space(data_set), H5Sclose);
  DataSetShape shape;
  if (!space.valid() || H5Sis_simple(space.get()) <= 0) return shape;
  shape.rank = H5Sget_simple_extent_ndims(space.get());
  if (shape.rank == 1 || shape.rank == 2) {
    (void)H5Sget_simple_extent_dims(space.get(), shape.sizes, nullptr);
  }
  return shape;
}

// Returns the bytes of a number of a data set of integers, or of truth values, which HDF5 stores as
// an enumeration of integers; 0 for another one. HDF5 reads a number that int32 has no room for as
// the nearest one, which is no token and no place.
std::size_t integer_bytes(hid_t data_set) {
  const Hdf5Handle type(H5Dget_type(data_set), H5Tclose);
  if (!type.valid()) return 0;
  const H5T_class_t kind = H5Tget_class(type.get());
  const std::size_t bytes = H5Tget_size(type.get());
  return (kind == H5T_INTEGER || kind == H5T_ENUM) && bytes <= sizeof(std::int64_t) ? bytes : 0;
}

// Whether the numbers, unless they are in chunks, take the bytes that their count needs. HDF5 1.10
// reads beyond its buffers where a broken file says otherwise.
bool has_its_size(hid_t data_set) {
  const Hdf5Handle options(H5Dget_create_plist(data_set), H5Pclose);
  if (H5Pget_layout(options.get()) == H5D_CHUNKED) return true;
  const Hdf5Handle type(H5Dget_type(data_set), H5Tclose);
  const DataSetShape shape = shape_of(data_set);
  const hsize_t width = shape.rank == 2 ? shape.sizes[1] : 1;
  const hsize_t row_bytes = width * H5Tget_size(type.get());
  const hsize_t bytes = H5Dget_storage_size(data_set);
  return row_bytes > 0 && bytes % row_bytes == 0 && bytes / row_bytes == shape.sizes[0];
}

// Whether the numbers lie in the file itself, in pieces that can be read into memory.
bool can_be_stored_so(hid_t data_set, std::size_t number_bytes) {
  const Hdf5Handle options(H5Dget_create_plist(data_set), H5Pclose);
  if (!options.valid() || H5Pget_external_count(options.get()) != 0) return false;
  const H5D_layout_t layout = H5Pget_layout(options.get());
  if (layout != H5D_CHUNKED) return layout == H5D_CONTIGUOUS || layout == H5D_COMPACT;
  hsize_t chunk[2] = {0, 1};
  if (H5Pget_chunk(options.get(), 2, chunk) < 1) return false;
  const std::size_t most = kLargestChunk / number_bytes;
  return chunk[0] <= most && chunk[1] <= most && chunk[0] * chunk[1] <= most;
}

// Sets `reason` if the file cannot be opened.
Hdf5Handle open_file(const std::string& path, std::string& reason) {
  const Hdf5Handle options(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  (void)H5Pset_file_locking(options.get(), 0, 1);  // file systems that cannot lock can be read
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, options.get()), H5Fclose);
  if (!file.valid()) reason = hdf5_failure().reason;
  return file;
}

// Returns the name of a filter of the data set that the library lacks, or "".
std::string missing_filter(hid_t data_set) {
  const Hdf5Handle options(H5Dget_create_plist(data_set), H5Pclose);
  const int filters = H5Pget_nfilters(options.get());
  for (int i = 0; i < filters; ++i) {
    char name[64] = "";
    unsigned flags = 0;
    std::size_t values = 0;
    unsigned config = 0;
    const H5Z_filter_t filter = H5Pget_filter2(options.get(), static_cast<unsigned>(i), &flags,
                                               &values, nullptr, sizeof(name), name, &config);
    if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
    return name[0] == '\0' ? concat("number ", filter) : name;
  }
  return "";
}

Hdf5Handle open_data_set(const Hdf5Handle& file, const char* name) {
  return {H5Dopen2(file.get(), name, H5P_DEFAULT), H5Dclose};
}

// HDF5 1.10 divides by the sizes of chunks while it opens a data set, and by 0 if the file is
// broken.
void open_all(const std::string& path) {
  std::string reason;
  const Hdf5Handle file = open_file(path, reason);
  if (!file.valid()) return;
  for (const char* name : kShardNames) (void)open_data_set(file, name);
}

namespace fs = std::filesystem;

bool is_for_test(const std::string& path) {
  return fs::path(path).filename().string().find("test") != std::string::npos;
}

std::vector<std::string> shards_in(const fs::path& folder, const std::string& beginning) {
  std::vector<std::string> files;
  std::error_code error;  // a folder that cannot be read has none
  const fs::path place = folder.empty() ? fs::path(".") : folder;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && is_shard_name(name)) {
      files.push_back((folder / name).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

ShardReader::ShardReader(std::string path, std::int64_t vocabulary)
    : path_(std::move(path)), vocabulary_(vocabulary) {
  const FileInput readable(path_);  // says why a file cannot be opened
  prepare_hdf5();
  if (!survives([this] { open_all(path_); })) {
    refuse("is broken: the HDF5 library crashes on it");
  }
  std::string reason;
  file_ = open_file(path_, reason);
  if (!file_.valid()) refuse("is not an HDF5 file, or is broken: " + reason);
  for (std::size_t i = 0; i < kShardColumns; ++i) open_column(i);
}

void ShardReader::refuse(const std::string& what) const {
  throw InputError(65, concat(path_, ": ", what), kHint);
}

void ShardReader::refuse_row(const std::string& what) const {
  throw InputError(65, concat(path_, ", row ", next_row_, ": ", what),
                   "make the shard again, and check that it is of this vocabulary");
}

void ShardReader::open_column(std::size_t index) {
  const char* name = kShardNames[index];
  const auto which = static_cast<ShardColumn>(index);
  Column& column = columns_[index];
  column.data_set = open_data_set(file_, name);
  if (!column.data_set.valid()) refuse(concat("has no data set '", name, "'"));
  const hid_t id = column.data_set.get();
  const std::size_t bytes = integer_bytes(id);
  if (bytes == 0) refuse(concat("'", name, "' is not of integers of at most 64 bits"));
  const DataSetShape shape = shape_of(id);
  const int rank = which == ShardColumn::next_sentence_labels ? 1 : 2;
  if (shape.rank != rank) refuse(concat("'", name, "' does not have ", rank, " dimension(s)"));
  const hsize_t width = rank == 1 ? 1 : shape.sizes[1];
  if (width < 1 || width > kWidest) {
    refuse(concat("'", name, "' has rows of ", width, " numbers, not of 1 to ", kWidest));
  }
  column.width = static_cast<int>(width);
  if (which == ShardColumn::input_ids) {
    rows_ = static_cast<std::int64_t>(shape.sizes[0]);
    widths_.tokens = column.width;
  } else if (which == ShardColumn::masked_lm_positions) {
    widths_.masked = column.width;
  }
  if (std::cmp_not_equal(shape.sizes[0], rows_) || column.width != width_of(which, widths_)) {
    refuse(concat("'", name, "' is [", shape.sizes[0], ", ", column.width, "], not [", rows_, ", ",
                  width_of(which, widths_), "] as the other data sets say"));
  }
  if (!can_be_stored_so(id, std::max(bytes, sizeof(std::int32_t)))) {
    refuse(concat("'", name, "' lies in other files or in chunks of more than ",
                  kLargestChunk >> 20, " MiB"));
  }
  if (!has_its_size(id)) refuse(concat("'", name, "' has not the bytes that its numbers need"));
}

bool ShardReader::next() {
  if (next_row_ == rows_) return false;
  if (next_row_ == block_end_) read_block();
  ++next_row_;
  check_row();
  return true;
}

void ShardReader::read_block() {
  block_begin_ = block_end_;
  const std::int64_t widest = std::int64_t{4} * std::max(widths_.tokens, widths_.masked);
  block_end_ = std::min(rows_, block_begin_ + std::max<std::int64_t>(1, kBlockBytes / widest));
  for (std::size_t i = 0; i < kShardColumns; ++i) read_column(i, block_end_ - block_begin_);
}

void ShardReader::read_column(std::size_t index, std::int64_t rows) {
  Column& column = columns_[index];
  const int rank = static_cast<ShardColumn>(index) == ShardColumn::next_sentence_labels ? 1 : 2;
  const hsize_t first[] = {static_cast<hsize_t>(block_begin_), 0};
  const hsize_t count[] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(column.width)};
  column.numbers.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(column.width));
  const Hdf5Handle in_file(H5Dget_space(column.data_set.get()), H5Sclose);
  const Hdf5Handle in_memory(H5Screate_simple(rank, count, nullptr), H5Sclose);
  if (H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, first, nullptr, count, nullptr) < 0 ||
      H5Dread(column.data_set.get(), H5T_NATIVE_INT32, in_memory.get(), in_file.get(), H5P_DEFAULT,
              column.numbers.data()) < 0) {
    const std::string reason = hdf5_failure().reason;
    const std::string filter = missing_filter(column.data_set.get());
    refuse(concat("'", kShardNames[index], "' cannot be read from row ", block_begin_ + 1, " on: ",
                  filter.empty() ? reason
                                 : concat("it is packed by the filter ", filter,
                                          ", which this HDF5 library lacks; gzip is read")));
  }
}

std::span<const std::int32_t> ShardReader::row_of(ShardColumn which) const {
  const Column& column = columns_[index_of(which)];
  const auto width = static_cast<std::size_t>(column.width);
  const auto row = static_cast<std::size_t>(next_row_ - 1 - block_begin_);
  return std::span(column.numbers).subspan(row * width, width);
}

void ShardReader::check_row() {
  const auto mask = row_of(ShardColumn::input_mask);
  const auto end = std::ranges::find(mask, 0);
  tokens_ = static_cast<std::size_t>(end - mask.begin());
  if (tokens_ == 0 || std::any_of(mask.begin(), end, [](auto m) { return m != 1; }) ||
      std::any_of(end, mask.end(), [](auto m) { return m != 0; })) {
    refuse_row("'input_mask' is not ones, then zeros");
  }
  for (const std::int32_t id : row_of(ShardColumn::input_ids).first(tokens_)) {
    if (id < 0 || id >= vocabulary_) {
      refuse_row(
          concat("'input_ids' holds ", id, ", but the vocabulary has ", vocabulary_, " tokens"));
    }
  }
  const auto segments = row_of(ShardColumn::segment_ids).first(tokens_);
  first_ = static_cast<std::int32_t>(std::ranges::find(segments, 1) - segments.begin());
  if (first_ == 0 || !std::ranges::is_sorted(segments) || segments.front() < 0 ||
      segments.back() > 1) {
    refuse_row("'segment_ids' is not zeros, then ones");
  }
  const std::int32_t next = row_of(ShardColumn::next_sentence_labels)[0];
  if (next != 0 && next != 1) {
    refuse_row(concat("'next_sentence_labels' is ", next, ", neither 0 nor 1"));
  }
  check_masks(tokens_);
}

void ShardReader::check_masks(std::size_t tokens) {
  const auto positions = row_of(ShardColumn::masked_lm_positions);
  masked_ = static_cast<std::size_t>(std::ranges::find(positions, 0) - positions.begin());
  for (const std::int32_t position : positions.first(masked_)) {
    if (position < 0 || std::cmp_greater_equal(position, tokens)) {
      refuse_row(
          concat("'masked_lm_positions' holds ", position, ", but there are ", tokens, " tokens"));
    }
  }
  for (const std::int32_t id : row_of(ShardColumn::masked_lm_ids).first(masked_)) {
    if (id < 0 || id >= vocabulary_) {
      refuse_row(concat("'masked_lm_ids' holds ", id, ", but the vocabulary has ", vocabulary_,
                        " tokens"));
    }
  }
}

Instance ShardReader::instance() const {
  const bool has_second = std::cmp_less(first_, tokens_);
  const bool random = row_of(ShardColumn::next_sentence_labels)[0] == 1;
  return {row_of(ShardColumn::input_ids).first(tokens_), first_,
          !has_second ? NextSentence::none
          : random    ? NextSentence::random
                      : NextSentence::follows,
          row_of(ShardColumn::masked_lm_positions).first(masked_),
          row_of(ShardColumn::masked_lm_ids).first(masked_)};
}

bool is_shard_name(const std::string& path) {
  return path.ends_with(".hdf5") || path.ends_with(".h5");
}

std::vector<std::string> shard_files(const std::string& path) {
  if (is_shard_name(path)) return {path};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::vector<std::string> files = shards_in(path, "");
    if (!std::ranges::all_of(files, is_for_test)) std::erase_if(files, is_for_test);
    return files;
  }
  if (fs::exists(path, error)) return {};
  const std::string name = fs::path(path).filename().string();
  return name.empty() ? std::vector<std::string>() : shards_in(fs::path(path).parent_path(), name);
}

}  // namespace bp::trainer
