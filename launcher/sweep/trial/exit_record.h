// How an attempt at a trial ended. The process that runs the attempt writes it, so that the end is
// not lost if the sweep was killed in the meantime, and no trial that has finished runs again.
#pragma once

#include <optional>
#include <string>

#include "base/fields.h"
#include "launcher/process/file_lock.h"

namespace bp::launcher::sweep {

struct ExitRecord {
  int attempt = 0;  // counted from 1
  int exit_code = 0;
  double ended = 0;  // seconds since 1970
  bool operator==(const ExitRecord&) const = default;
};

void fields(auto&& words, Of<ExitRecord> auto& it) {
  words("attempt", it.attempt);
  words("code", it.exit_code);
  words("at", it.ended);
}

// Takes the disk space of a record before an attempt starts, so that the disk may be full when it
// ends. Throws io.
void reserve_exit_record(const std::string& folder);

// Replaces the record in the trial's folder. Throws io.
void write_exit_record(const std::string& folder, const ExitRecord& record);

// Returns nothing if no attempt has ended yet, or if the file is no record.
[[nodiscard]] std::optional<ExitRecord> read_exit_record(const std::string& folder);

// Takes the lock that an attempt holds until its record is written. Throws io if another process
// holds the lock of this folder.
[[nodiscard]] FileLock lock_attempt(const std::string& folder);
// Returns whether another process holds that lock.
[[nodiscard]] bool attempt_runs(const std::string& folder);

}  // namespace bp::launcher::sweep
