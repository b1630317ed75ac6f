#include "trainer/data/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/disk_space.h"

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

}  // namespace

void fail_to_write(const std::string& path, int error_number, std::uint64_t needed) {
  throw Error(ErrorCode::io,
              concat("cannot write ", path, ": ", error_text(error_number),
                     means_full(error_number) ? "; " + space_text(path, needed) : std::string()));
}

PartFile::PartFile(std::string path)
    : path_(std::move(path)),
      part_(path_ + ".part"),
      file_(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode)) {
  if (!file_) {
    throw Error(ErrorCode::io, concat("cannot create ", part_, ": ", error_text(errno)));
  }
}

PartFile::~PartFile() {
  if (!kept_) {
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
    fail_to_write(path_, errno, buffer_.size() - written);
  }
  buffer_.clear();
}

void PartFile::keep() {
  const std::size_t last = buffer_.size();
  flush();
  if (::fsync(file_.get()) != 0 || std::rename(part_.c_str(), path_.c_str()) != 0) {
    fail_to_write(path_, errno, last);
  }
  kept_ = true;
  sync_folder_of(path_);
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

void make_folders(const std::string& path) {
  std::vector<fs::path> missing;
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder);
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  fs::create_directories(path);
  for (const fs::path& folder : missing) sync_folder_of(folder);
}

}  // namespace bp::trainer
