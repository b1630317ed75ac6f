// How an attempt at a trial ended. The process that runs the attempt writes it, so that the end is
// not lost if the sweep was killed in the meantime, and no trial that has finished runs again.
#pragma once

#include <optional>
#include <string>

namespace bp::launcher::sweep {

struct ExitRecord {
  int attempt = 0;  // counted from 1
  int exit_code = 0;
  double ended = 0;  // seconds since 1970
  bool operator==(const ExitRecord&) const = default;
};

// Takes the disk space of a record before an attempt starts, so that the disk may be full when it
// ends. Throws io.
void reserve_exit_record(const std::string& folder);

// Replaces the record in the trial's folder. Throws io.
void write_exit_record(const std::string& folder, const ExitRecord& record);

// Returns nothing if no attempt has ended yet, or if the file is no record.
[[nodiscard]] std::optional<ExitRecord> read_exit_record(const std::string& folder);

// The lock that an attempt holds until its record is written. Only the process that took it holds
// it, not its children, and the kernel releases it if that process is killed.
class AttemptLock {
 public:
  // Throws io if another process holds the lock of this folder.
  explicit AttemptLock(const std::string& folder);

  // Returns whether another process holds the lock.
  [[nodiscard]] static bool is_held(const std::string& folder);

 private:
  int fd_;  // stays open until the process ends
};

}  // namespace bp::launcher::sweep
