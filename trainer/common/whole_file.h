// Writes files that are either complete or absent, and that survive a power cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/fd.h"
#include "base/system/output_place.h"

namespace bp::trainer {

// Writes a file at `path`.part, which keep() moves to `path`. If `path` is a symbolic link, the
// file that it leads to is replaced in this way. A device, a pipe or a descriptor (/dev/stdout) is
// written directly instead. Every function throws io naming the path, the reason and, if the disk
// is full, the missing space. After an error a file at `path` is unchanged, except if only its
// folder could not be synced.
class PartFile {
 public:
  // Blocks for a named pipe until a process reads it; throws Interrupted if asked to stop first.
  explicit PartFile(std::string path);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();  // removes the part unless keep() has succeeded

  void write(std::string_view content);
  // Syncs the part, renames it to `path` and syncs the folder, so that the file survives a power
  // cut.
  void keep();

 private:
  void flush();
  [[noreturn]] void fail(std::size_t missing) const;

  std::string path_;
  OutputPlace place_;
  std::string part_;  // empty: what exists at `path` is written directly
  Fd file_;
  std::string buffer_;
  bool kept_ = false;
};

void write_whole_file(const std::string& path, std::string_view content);

// Sync a file's content, or the names in a folder after files were renamed, linked or removed there
// ("": the current folder), so that they survive a power cut. Both throw io: "cannot put runs/a on
// disk: Input/output error".
void sync_file(const std::string& path);
void sync_folder(const std::string& path);
// Syncs the folder of `path`. Skips a folder that this process may write but not read, because such
// a folder cannot be synced.
void sync_folder_of(const std::string& path);
// Creates a folder and its missing parents, and syncs their names. Returns those that it created,
// the innermost first. Throws std::filesystem::filesystem_error if one cannot be created, and io as
// sync_folder() does; those that it created are then removed.
std::vector<std::string> make_folders(const std::string& path);

// Throws io with a text such as "cannot write runs/a/report.html: No space left on device; about
// 71.0 KiB more are needed, 4.0 KiB are free there".
[[noreturn]] void fail_to_write(const std::string& path, int error_number, std::uint64_t needed);

// Returns the bytes that this user may still write at `path`, or in its nearest folder that exists;
// nothing if the system does not say.
[[nodiscard]] std::optional<std::uint64_t> free_space(const std::string& path);

// Returns "about 3.4 MiB more are needed, 12.0 KiB are free there".
[[nodiscard]] std::string space_text(const std::string& path, std::uint64_t needed);

}  // namespace bp::trainer
