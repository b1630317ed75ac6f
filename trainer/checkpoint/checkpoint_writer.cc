#include "trainer/checkpoint/checkpoint_writer.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/numbers.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

std::uint64_t size_of(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code end;  // what cannot be read does not count
  for (fs::recursive_directory_iterator entry(folder, end);
       !end && entry != fs::recursive_directory_iterator(); entry.increment(end)) {
    std::error_code error;
    if (!entry->is_regular_file(error)) continue;
    const std::uint64_t size = entry->file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::string megabytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  return concat(with_commas(static_cast<std::int64_t>((bytes + kMegabyte - 1) / kMegabyte)), " MB");
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string folder,
                                   KeepCheckpoints keep,
                                   std::optional<std::int64_t> last,
                                   std::function<void()> published)
    : folder_(std::move(folder)),
      keep_(keep),
      published_(std::move(published)),
      complete_(last),
      begun_(last) {}

void CheckpointWriter::start(const CheckpointState& state, WriteFiles write_files) {
  begun_ = state.step;
  background_.start(
      [this, state, write_files = std::move(write_files)] { write(state, write_files); });
}

void CheckpointWriter::write(const CheckpointState& state, const WriteFiles& write_files) {
  try {
    const std::string part = folder_.begin(state.step);
    write_files(part);
    write_whole_file(part + "/state.json", to_json(state));
    folder_.publish({state.step, steps_of(state.best), keep_});
    complete_ = state.step;
    published_();
  } catch (const std::exception& error) {
    folder_.abandon(state.step);
    throw Error(ErrorCode::io,
                concat("the checkpoint of step ", state.step, " failed: ", error.what(), "; ",
                       complete_ ? "the last complete one is " + folder_.of_step(*complete_)
                                 : "there is no other checkpoint yet"));
  }
}

void require_space(const std::string& folder,
                   const DiskSpace& disk,
                   std::int64_t parameters,
                   const KeptCheckpoints& keep) {
  // Weights and two moments of four bytes each; names, vocabulary and the rest take little.
  const std::uint64_t bytes = keep.optimizer_state ? (keep.averaged ? 16 : 12) : 4;
  constexpr std::uint64_t kBesides = 1'000'000;
  const std::uint64_t one = static_cast<std::uint64_t>(parameters) * bytes + kBesides;
  const std::uint64_t count = std::uint64_t{1} + static_cast<std::uint64_t>(keep.last) +
                              static_cast<std::uint64_t>(keep.best);
  const std::uint64_t needed = one * count;
  if (disk.free + disk.present >= needed) return;
  throw InputError(
      70,
      concat("the disk of ", folder, " has ", megabytes(disk.free), " left, but ", count,
             " checkpoints of ", megabytes(one), " (--keep ", keep.last, ", the ",
             keep.best > 1 ? concat(keep.best, " ") : "", "best, and the one being written) need ",
             megabytes(needed - disk.present), " more"),
      keep.best > 1   ? "make room, name a folder on another disk with --run, or keep fewer with "
                        "--keep 1 --keep-best 1"
      : keep.last > 1 ? "make room, name a folder on another disk with --run, or keep fewer with "
                        "--keep 1"
                      : "make room, or name a folder on another disk with --run");
}

void require_space(const std::string& folder,
                   std::int64_t parameters,
                   const KeptCheckpoints& keep) {
  const auto free = free_space(folder);
  if (!free) return;  // unknown: writing will tell
  require_space(folder, {*free, size_of(folder + "/checkpoints")}, parameters, keep);
}

}  // namespace bp::trainer
