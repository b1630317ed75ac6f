#include "launcher/sweep/trial/exit_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/read_file.h"

namespace bp::launcher::sweep {
namespace {

std::string record_path(const std::string& folder) { return folder + "/ended"; }
std::string lock_path(const std::string& folder) { return folder + "/lock"; }

constexpr std::size_t kRecordBytes = 96;  // enough for a record with the largest numbers

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(errno)));
}

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

void reserve_exit_record(const std::string& folder) {
  const std::string part = record_path(folder) + ".part";
  const Fd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const std::string bytes(kRecordBytes, '\n');
  if (!file || write_all(file.get(), bytes.data(), bytes.size()) != bytes.size()) {
    cannot_write(part);
  }
}

void write_exit_record(const std::string& folder, const ExitRecord& record) {
  std::ostringstream text;
  text << "attempt " << record.attempt << " code " << record.exit_code << " at " << std::fixed
       << std::setprecision(3) << record.ended << "\n";
  std::string bytes = text.str();
  bytes.resize(std::max(bytes.size(), kRecordBytes), '\n');
  const std::string path = record_path(folder);
  const std::string part = path + ".part";
  {
    // Without O_TRUNC: the reserved bytes are overwritten in place.
    const Fd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!file || write_all(file.get(), bytes.data(), bytes.size()) != bytes.size()) {
      cannot_write(part);
    }
  }
  if (::rename(part.c_str(), path.c_str()) != 0) {
    cannot_write(path);
  }
}

std::optional<ExitRecord> read_exit_record(const std::string& folder) {
  const FileText file = read_file(record_path(folder));
  std::istringstream text(file.text);
  std::string attempt;
  std::string code;
  std::string at;
  ExitRecord record;
  text >> attempt >> record.attempt >> code >> record.exit_code >> at >> record.ended;
  if (file.error != 0 || !text || attempt != "attempt" || code != "code" || at != "at") {
    return std::nullopt;
  }
  return record;
}

AttemptLock::AttemptLock(const std::string& folder)
    : fd_(::open(lock_path(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  struct flock lock = whole_file();
  if (fd_ < 0 || ::fcntl(fd_, F_SETLK, &lock) != 0) {
    throw Error(ErrorCode::io, concat("cannot lock ", lock_path(folder), ": ", error_text(errno)));
  }
}

bool AttemptLock::is_held(const std::string& folder) {
  const Fd file(::open(lock_path(folder).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = whole_file();
  lock.l_type = F_RDLCK;  // all that a file opened for reading may ask about
  return file && ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace bp::launcher::sweep
