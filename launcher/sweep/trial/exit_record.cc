#include "launcher/sweep/trial/exit_record.h"

#include <fcntl.h>

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

constexpr std::size_t kRecordBytes = 96;  // enough for a record with the largest numbers

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(errno)));
}

// Without O_TRUNC among the flags, bytes that were reserved are overwritten in place.
void write_part(const std::string& part, const std::string& bytes, int flags) {
  const Fd file(::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666));
  if (!file || write_all(file.get(), bytes.data(), bytes.size()) != bytes.size()) {
    cannot_write(part);
  }
}

}  // namespace

void reserve_exit_record(const std::string& folder) {
  write_part(record_path(folder) + ".part", std::string(kRecordBytes, '\n'), O_TRUNC);
}

void write_exit_record(const std::string& folder, const ExitRecord& record) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(3);
  fields([&](const char* name,
             const auto& value) { text << (text.tellp() > 0 ? " " : "") << name << " " << value; },
         record);
  std::string bytes = text.str();
  bytes.resize(std::max(bytes.size() + 1, kRecordBytes), '\n');
  const std::string path = record_path(folder);
  const std::string part = path + ".part";
  write_part(part, bytes, 0);
  if (::rename(part.c_str(), path.c_str()) != 0) cannot_write(path);
}

std::optional<ExitRecord> read_exit_record(const std::string& folder) {
  const FileText file = read_file(record_path(folder));
  std::istringstream text(file.text);
  ExitRecord record;
  bool known = file.error == 0;
  fields(
      [&](const char* name, auto& value) {
        std::string word;
        known = known && text >> word >> value && word == name;
      },
      record);
  return known ? std::optional(record) : std::nullopt;
}

FileLock lock_attempt(const std::string& folder) {
  const std::string path = folder + "/lock";
  FileLock lock(path);
  if (!lock.taken()) {
    throw Error(ErrorCode::io, concat("cannot lock ", path, ": ", error_text(EAGAIN)));
  }
  return lock;
}

bool attempt_runs(const std::string& folder) {
  return FileLock::holder(folder + "/lock").has_value();
}

}  // namespace bp::launcher::sweep
