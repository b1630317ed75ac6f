#include "trainer/common/whole_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/stop_signals.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr int kFileMode = 0644;
constexpr std::size_t kBuffer = std::size_t{1} << 20;

bool means_full(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

void put_on_disk(const std::string& path, int flags) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd || ::fsync(fd.get()) != 0) {
    throw Error(ErrorCode::io, concat("cannot put ", path, " on disk: ", error_text(errno)));
  }
}

// Opens what exists at `path`. An ordinary open() of a named pipe would wait for its reader through
// every request to stop.
Fd open_existing(const std::string& path, const OutputPlace& place) {
  std::error_code ignored;
  if (place.descriptor >= 0 || !fs::is_fifo(path, ignored)) return open_directly(path, place);
  constexpr auto kBetweenLooks = std::chrono::milliseconds(20);
  for (;;) {
    Fd pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (pipe && ::fcntl(pipe.get(), F_SETFL, O_WRONLY) == 0) return pipe;
    if (errno != ENXIO) return {};  // ENXIO: no process reads it
    throw_if_stopping("waiting for a reader of", path);
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

void fail_to_write(const std::string& path, int error_number, std::uint64_t needed) {
  throw Error(ErrorCode::io,
              concat("cannot write ", path, ": ", error_text(error_number),
                     means_full(error_number) ? "; " + space_text(path, needed) : std::string()));
}

PartFile::PartFile(std::string path)
    : path_(std::move(path)),
      place_(output_place(path_)),
      part_(place_.file.empty() ? "" : place_.file + ".part"),
      file_(part_.empty()
                ? open_existing(path_, place_)
                : Fd(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode))) {
  if (file_) return;
  throw Error(ErrorCode::io, part_.empty()
                                 ? concat("cannot write ", path_, ": ", error_text(errno))
                                 : concat("cannot create ", part_, ": ", error_text(errno)));
}

PartFile::~PartFile() {
  if (!kept_ && !part_.empty()) {
    ::unlink(part_.c_str());
  }
}

void PartFile::write(std::string_view content) {
  buffer_ += content;
  if (buffer_.size() >= kBuffer) {
    flush();
  }
}

void PartFile::flush() {
  const std::size_t written = write_all(file_.get(), buffer_.data(), buffer_.size());
  if (written < buffer_.size()) {
    fail(buffer_.size() - written);
  }
  buffer_.clear();
}

void PartFile::keep() {
  const std::size_t last = buffer_.size();
  flush();
  if (part_.empty()) return;
  if (::fsync(file_.get()) != 0 || std::rename(part_.c_str(), place_.file.c_str()) != 0) {
    fail(last);
  }
  kept_ = true;
  sync_folder_of(place_.file);
}

// The space that is free in the folder of a device or a pipe says nothing about it.
void PartFile::fail(std::size_t missing) const {
  const int error = errno;
  if (!part_.empty()) fail_to_write(path_, error, missing);
  throw Error(ErrorCode::io, concat("cannot write ", path_, ": ", error_text(error)));
}

void write_whole_file(const std::string& path, std::string_view content) {
  PartFile file(path);
  file.write(content);
  file.keep();
}

void sync_file(const std::string& path) { put_on_disk(path, 0); }

void sync_folder(const std::string& path) { put_on_disk(path.empty() ? "." : path, O_DIRECTORY); }

void sync_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), R_OK) != 0 && errno == EACCES) return;
  sync_folder(folder);
}

std::vector<std::string> make_folders(const std::string& path) {
  std::vector<std::string> missing;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder);
       folder = folder.parent_path()) {
    missing.push_back(folder.string());
  }
  try {
    fs::create_directories(path);
    for (const std::string& folder : missing) sync_folder_of(folder);
  } catch (...) {
    for (const std::string& folder : missing) ::rmdir(folder.c_str());  // if it is empty
    throw;
  }
  return missing;
}

std::optional<std::uint64_t> free_space(const std::string& path) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(path, error);
  while (!error && !std::filesystem::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
    error.clear();
  }
  struct statvfs status = {};
  if (::statvfs(place.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::string space_text(const std::string& path, std::uint64_t needed) {
  const std::optional<std::uint64_t> free = free_space(path);
  return concat("about ", size_text(needed), " more are needed",
                free ? concat(", ", size_text(*free), " are free there") : std::string());
}

}  // namespace bp::trainer
