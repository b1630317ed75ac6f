// See recorder.h. Each function makes the system call itself, so it does not have to look up the C
// library's function first. One lock is held during a call and its note, so the order of the record
// is the order of the effects.
//
// This file is longer than others because each function of the C library comes in several forms.
#include "tests/support/files/recorder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#define BP_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace {

using bp::test::FileOperationHeader;
using Kind = bp::test::FileOperationKind;

// The file that a descriptor stood for when it was opened. The C library closes some descriptors
// without a call that the recorder sees, and reuses their numbers for other files.
struct Opened {
  dev_t device = 0;
  ino_t inode = 0;
};

struct Recorder {
  std::recursive_mutex mutex;
  std::string folder;
  int record = -1;
  std::array<std::optional<Opened>, 4096> opened;
};

std::atomic<bool> recording{false};
std::atomic<bool> exchanges_refused{false};

Recorder& recorder() {
  static auto* const the_one = new Recorder;  // outlives every thread
  return *the_one;
}

// Returns the path below the recorded folder, "" for the folder itself, or nothing for a path
// outside it.
std::optional<std::string> below_folder(std::string_view path) {
  const std::string& folder = recorder().folder;
  if (path == folder) return "";
  if (!path.starts_with(folder + "/")) return std::nullopt;
  return std::string(path.substr(folder.size() + 1));
}

std::string path_of(int fd) {
  std::array<char, PATH_MAX> text{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

// Returns the path of a name below the recorded folder. Follows the links in the name of the
// folder, but not a link that the name itself stands for.
std::optional<std::string> place_of(int folder, const char* name) {
  std::string path = name;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (!path.starts_with('/')) path = (folder == AT_FDCWD ? "." : path_of(folder)) + "/" + path;
  const std::size_t slash = path.rfind('/');
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(path.substr(0, slash + 1).c_str(), resolved.data()) == nullptr) {
    return std::nullopt;
  }
  return below_folder(std::string(resolved.data()) + path.substr(slash));
}

void note(FileOperationHeader header,
          std::string_view path,
          std::string_view other = {},
          std::string_view data = {}) {
  header.path_bytes = path.size();
  header.other_bytes = other.size();
  header.data_bytes = data.size();
  const auto part = [](std::string_view bytes) {
    return iovec{const_cast<char*>(bytes.data()), bytes.size()};
  };
  const std::array parts{
      iovec{&header, sizeof(header)},
      part(path),
      part(other),
      part(data),
  };
  const std::size_t size = sizeof(header) + path.size() + other.size() + data.size();
  const long written = ::syscall(SYS_writev, recorder().record, parts.data(), parts.size());
  if (written != static_cast<long>(size)) ::abort();  // a record with a gap is useless
}

// Holds the lock while a call is recorded, and preserves errno.
class Recorded {
 public:
  Recorded() : on_(recording.load(std::memory_order_acquire)) {
    if (!on_) return;
    recorder().mutex.lock();
    on_ = recording.load(std::memory_order_acquire);
    if (!on_) recorder().mutex.unlock();
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() {
    if (on_) recorder().mutex.unlock();
    errno = errno_;
  }

  [[nodiscard]] bool on() const { return on_; }
  // Returns the result of the recorded call and sets errno.
  long result(long value) {
    errno_ = errno;
    return value;
  }

 private:
  bool on_;
  int errno_ = errno;
};

bool is_recorded(int fd) {
  if (!recording.load(std::memory_order_acquire)) return false;
  auto& opened = recorder().opened;
  if (fd < 0 || static_cast<std::size_t>(fd) >= opened.size()) return false;
  const std::lock_guard lock(recorder().mutex);
  const auto& there = opened[static_cast<std::size_t>(fd)];
  struct stat now = {};
  return there && ::fstat(fd, &now) == 0 && now.st_dev == there->device &&
         now.st_ino == there->inode;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  Recorded recorded;
  const long fd = recorded.result(::syscall(SYS_openat, folder, path, flags, mode));
  if (!recorded.on() || fd < 0 || static_cast<std::size_t>(fd) >= recorder().opened.size()) {
    return static_cast<int>(fd);
  }
  auto& there = recorder().opened[static_cast<std::size_t>(fd)];
  there.reset();
  struct stat now = {};
  if (const auto place = below_folder(path_of(static_cast<int>(fd)));
      place && ::fstat(static_cast<int>(fd), &now) == 0) {
    there = Opened{now.st_dev, now.st_ino};
    note({.kind = Kind::open,
          .fd = static_cast<std::int32_t>(fd),
          .offset = static_cast<std::uint64_t>(flags)},
         *place);
  }
  return static_cast<int>(fd);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

ssize_t write_at(int fd, const void* data, std::size_t bytes, std::optional<off_t> offset) {
  const auto call = [&] {
    return offset ? ::syscall(SYS_pwrite64, fd, data, bytes, *offset)
                  : ::syscall(SYS_write, fd, data, bytes);
  };
  if (!is_recorded(fd)) return call();
  Recorded recorded;
  const long written = recorded.result(call());
  if (recorded.on() && written > 0) {
    const long begin = offset ? *offset : ::syscall(SYS_lseek, fd, 0, SEEK_CUR) - written;
    note({.kind = Kind::write, .fd = fd, .offset = static_cast<std::uint64_t>(begin)}, "", "",
         {static_cast<const char*>(data), static_cast<std::size_t>(written)});
  }
  return written;
}

int sync(int fd, long number) {
  if (!is_recorded(fd)) return static_cast<int>(::syscall(number, fd));
  Recorded recorded;
  const long result = recorded.result(::syscall(number, fd));
  if (recorded.on() && result == 0) note({.kind = Kind::sync, .fd = fd}, "");
  return static_cast<int>(result);
}

int truncate_to(int fd, off_t size) {
  Recorded recorded;
  const long result = recorded.result(::syscall(SYS_ftruncate, fd, size));
  if (result == 0 && is_recorded(fd)) {
    note({.kind = Kind::truncate, .fd = fd, .offset = static_cast<std::uint64_t>(size)}, "");
  }
  return static_cast<int>(result);
}

int rename_at(int from, const char* path, int to, const char* other, unsigned flags) {
  Recorded recorded;
  const auto source = recorded.on() ? place_of(from, path) : std::nullopt;
  const auto target = recorded.on() ? place_of(to, other) : std::nullopt;
  const long result = recorded.result(::syscall(SYS_renameat2, from, path, to, other, flags));
  if (result != 0 || (!source && !target)) return static_cast<int>(result);
  if (!source || !target) ::abort();  // no test moves a file into or out of the folder
  note({.kind = (flags & RENAME_EXCHANGE) != 0 ? Kind::exchange : Kind::rename}, *source, *target);
  return 0;
}

int unlink_at(int folder, const char* path, int flags) {
  Recorded recorded;
  const auto place = recorded.on() ? place_of(folder, path) : std::nullopt;
  const long result = recorded.result(::syscall(SYS_unlinkat, folder, path, flags));
  if (result == 0 && place) {
    note({.kind = (flags & AT_REMOVEDIR) != 0 ? Kind::rmdir : Kind::unlink}, *place);
  }
  return static_cast<int>(result);
}

int mkdir_at(int folder, const char* path, mode_t mode) {
  Recorded recorded;
  const long result = recorded.result(::syscall(SYS_mkdirat, folder, path, mode));
  if (!recorded.on() || result != 0) return static_cast<int>(result);
  if (const auto place = place_of(folder, path)) note({.kind = Kind::mkdir}, *place);
  return 0;
}

int symlink_at(const char* target, int folder, const char* path) {
  Recorded recorded;
  const long result = recorded.result(::syscall(SYS_symlinkat, target, folder, path));
  if (!recorded.on() || result != 0) return static_cast<int>(result);
  if (const auto place = place_of(folder, path)) note({.kind = Kind::symlink}, *place, target);
  return 0;
}

int link_at(int from, const char* path, int to, const char* other, int flags) {
  Recorded recorded;
  const long result = recorded.result(::syscall(SYS_linkat, from, path, to, other, flags));
  if (!recorded.on() || result != 0) return static_cast<int>(result);
  const auto source = place_of(from, path);
  const auto target = place_of(to, other);
  if (source && target) note({.kind = Kind::link}, *source, *target);
  return 0;
}

[[maybe_unused]] const bool begun_by_environment = [] {
  const char* const folder = ::getenv("BP_RECORDED_FOLDER");
  const char* const record = ::getenv("BP_FILE_RECORD");
  return folder != nullptr && record != nullptr && bp_record_files(folder, record);
}();

}  // namespace

BP_INTERPOSED bool bp_record_files(const char* folder, const char* record) {
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(folder, resolved.data()) == nullptr) return false;
  const long file = ::syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
  if (file < 0) return false;
  const std::lock_guard lock(recorder().mutex);
  recorder().folder = resolved.data();
  recorder().record = static_cast<int>(file);
  recorder().opened = {};
  recording.store(true, std::memory_order_release);
  return true;
}

BP_INTERPOSED void bp_record_mark(const char* text) {
  const Recorded recorded;
  if (recorded.on()) note({.kind = Kind::mark}, "", text);
}

BP_INTERPOSED void bp_record_stop() {
  const std::lock_guard lock(recorder().mutex);
  if (!recording.exchange(false)) return;
  ::syscall(SYS_close, recorder().record);
}

BP_INTERPOSED void bp_refuse_exchanges(bool refuse) { exchanges_refused.store(refuse); }

// These definitions use the C library's own names and types.
BP_INTERPOSED int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags, mode);
}
BP_INTERPOSED int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(AT_FDCWD, path, flags, mode);
}
BP_INTERPOSED int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(folder, path, flags, mode);
}
BP_INTERPOSED int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_at(folder, path, flags, mode);
}
BP_INTERPOSED int close(int fd) {
  if (!is_recorded(fd)) return static_cast<int>(::syscall(SYS_close, fd));
  Recorded recorded;
  if (recorded.on()) {
    recorder().opened[static_cast<std::size_t>(fd)].reset();
    note({.kind = Kind::close, .fd = fd}, "");
  }
  return static_cast<int>(recorded.result(::syscall(SYS_close, fd)));
}
BP_INTERPOSED ssize_t write(int fd, const void* data, size_t bytes) {
  return write_at(fd, data, bytes, std::nullopt);
}
BP_INTERPOSED ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return write_at(fd, data, bytes, offset);
}
BP_INTERPOSED ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return write_at(fd, data, bytes, offset);
}
BP_INTERPOSED int fsync(int fd) { return sync(fd, SYS_fsync); }
BP_INTERPOSED int fdatasync(int fd) { return sync(fd, SYS_fdatasync); }
BP_INTERPOSED int ftruncate(int fd, off_t size) noexcept { return truncate_to(fd, size); }
BP_INTERPOSED int ftruncate64(int fd, off64_t size) noexcept { return truncate_to(fd, size); }
BP_INTERPOSED int rename(const char* path, const char* other) noexcept {
  return rename_at(AT_FDCWD, path, AT_FDCWD, other, 0);
}
BP_INTERPOSED int renameat(int from, const char* path, int to, const char* other) noexcept {
  return rename_at(from, path, to, other, 0);
}
BP_INTERPOSED int renameat2(
    int from, const char* path, int to, const char* other, unsigned flags) noexcept {
  if ((flags & RENAME_EXCHANGE) != 0 && exchanges_refused.load()) {
    errno = EINVAL;
    return -1;
  }
  return rename_at(from, path, to, other, flags);
}
BP_INTERPOSED int link(const char* path, const char* other) noexcept {
  return link_at(AT_FDCWD, path, AT_FDCWD, other, 0);
}
BP_INTERPOSED int symlink(const char* target, const char* path) noexcept {
  return symlink_at(target, AT_FDCWD, path);
}
BP_INTERPOSED int unlink(const char* path) noexcept { return unlink_at(AT_FDCWD, path, 0); }
BP_INTERPOSED int unlinkat(int folder, const char* path, int flags) noexcept {
  return unlink_at(folder, path, flags);
}
BP_INTERPOSED int rmdir(const char* path) noexcept {
  return unlink_at(AT_FDCWD, path, AT_REMOVEDIR);
}
BP_INTERPOSED int remove(const char* path) noexcept {
  const int result = unlink_at(AT_FDCWD, path, 0);
  return result == 0 || errno != EISDIR ? result : unlink_at(AT_FDCWD, path, AT_REMOVEDIR);
}
BP_INTERPOSED int mkdir(const char* path, mode_t mode) noexcept {
  return mkdir_at(AT_FDCWD, path, mode);
}
