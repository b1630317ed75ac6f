// Files that are there complete or not at all, and that stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace bp::trainer {

// A file in the making, `path`.part. Every function throws io, naming path, the reason and, where
// the disk is full, how much is missing; `path` itself is then untouched, unless it is its folder
// that cannot be put on disk.
class PartFile {
 public:
  explicit PartFile(std::string path);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();  // removes the part unless it was kept

  void write(std::string_view content);
  // Syncs the part, renames it over `path` and syncs the folder of that: the file is there after a
  // power cut, and so is what was written before it.
  void keep();

 private:
  void flush();

  std::string path_;
  std::string part_;
  Fd file_;
  std::string buffer_;
  bool kept_ = false;
};

void write_whole_file(const std::string& path, std::string_view content);

// Puts on disk what was written into a file, or renamed, linked or removed in a folder ("": the
// current one), so that it is there after a power cut. Throw io: "cannot put runs/a on disk:
// Input/output error".
void sync_file(const std::string& path);
void sync_folder(const std::string& path);
// Syncs the folder in which `path` lies. Leaves one that this process may write and not read: such
// a folder cannot be synced.
void sync_folder_of(const std::string& path);
// Makes a folder, and those above it that are missing, and puts their names on disk. Throws
// std::filesystem::filesystem_error where one cannot be made, and io as sync_folder() does.
void make_folders(const std::string& path);

// "cannot write runs/a/report.html: No space left on device; about 71.0 KiB more are needed, 4.0
// KiB are free there": throws it as io.
[[noreturn]] void fail_to_write(const std::string& path, int error_number, std::uint64_t needed);

}  // namespace bp::trainer
