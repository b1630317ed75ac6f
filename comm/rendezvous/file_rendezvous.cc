// Rendezvous by a file in a folder. Rank 0 creates it under another name, locks it, writes it and
// only then renames it; the lock ends with rank 0. So a file without a lock was left by a job that
// died: ranks ignore it, and the next rank 0 replaces it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/rendezvous/channels.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::io, concat("rendezvous at ", path, ": ", why));
}

constexpr const char* kElsewhere = "; set TMPDIR to a folder in which you can write";

// Returns a file name that differs between jobs that use the same folder at the same time.
std::string file_name(const LaunchedRank& rank) {
  std::string name = concat("bp-", rank.launcher, "-", rank.job, "-", rank.master_port);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return name;
}

std::string own_folder() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error) fail("TMPDIR", concat("names no folder (", error.message(), "); set it to one"));
  std::string path = (temporary / concat("bp-", ::getuid())).string();
  struct stat status = {};
  if ((::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) ||
      ::lstat(path.c_str(), &status) != 0) {
    fail(path, error_text(errno) + kElsewhere);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::getuid() || (status.st_mode & 077) != 0) {
    fail(path, status.st_uid == ::getuid()
                   ? "is not a folder with mode 0700; remove it"
                   : "belongs to another user; set TMPDIR to a folder in which only you can write");
  }
  return path;
}

// Another user may have put anything there. Opening a FIFO must not wait for its other end.
constexpr int kOpen = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Tries to take a shared lock, which succeeds only if rank 0's exclusive lock has ended.
bool is_held(int fd) { return ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

class FileRendezvous final : public StoreRendezvous {
 public:
  // `way_out` follows the reason why the file cannot be written.
  FileRendezvous(std::string path, std::string way_out)
      : path_(std::move(path)), way_out_(std::move(way_out)) {}

  void publish(const StoreEndpoint& endpoint, const Deadline& /*deadline*/) override {
    if (const Fd other(::open(path_.c_str(), kOpen)); other && is_held(other.get())) {
      fail(path_, "another job uses this file now; give each its own MASTER_PORT");
    }
    const std::string draft = concat(path_, ".", ::getpid());
    ::unlink(draft.c_str());
    held_ = Fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const std::string text = to_text(endpoint);
    if (!held_ || ::flock(held_.get(), LOCK_EX | LOCK_NB) != 0 ||
        write_all(held_.get(), text.data(), text.size()) < text.size() ||
        ::rename(draft.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      ::unlink(draft.c_str());
      fail(path_, error_text(error) + way_out_);
    }
  }

  StoreEndpoint look_up(const Deadline& deadline) override {
    for (auto pause = 1ms; !deadline.passed(); pause = std::min(2 * pause, 50ms)) {
      const Fd file(::open(path_.c_str(), kOpen));
      if (file && is_held(file.get())) return read(file.get());
      std::this_thread::sleep_for(pause);
    }
    throw Error(ErrorCode::timeout,
                concat("rendezvous at ", path_,
                       ": rank 0 has not written the address of the job's store (did it start, and "
                       "do all hosts share that folder?)"));
  }

  void withdraw() override {
    ::unlink(path_.c_str());
    held_.reset();
  }

 private:
  [[nodiscard]] StoreEndpoint read(int fd) const {
    struct stat status = {};
    std::array<char, 512> bytes{};
    const ssize_t size = ::pread(fd, bytes.data(), bytes.size(), 0);
    if (size < 0 || ::fstat(fd, &status) != 0) fail(path_, error_text(errno));
    if (status.st_uid != ::getuid()) fail(path_, "the file belongs to another user");
    return parse_endpoint(std::string(bytes.data(), static_cast<std::size_t>(size)));
  }

  const std::string path_;
  const std::string way_out_;
  Fd held_;  // on rank 0: the file, locked
};

}  // namespace

std::unique_ptr<StoreRendezvous> rendezvous_in_folder(const std::string& folder,
                                                      const LaunchedRank& rank) {
  const fs::path parent = folder.empty() ? own_folder() : folder;
  return std::make_unique<FileRendezvous>((parent / file_name(rank)).string(),
                                          folder.empty() ? kElsewhere : "");
}

}  // namespace bp
