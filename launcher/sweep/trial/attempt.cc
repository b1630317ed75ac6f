#include "launcher/sweep/trial/attempt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iomanip>
#include <sstream>
#include <variant>

#include "base/deadline.h"
#include "base/quoted.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/read_file.h"
#include "launcher/process/signals.h"
#include "launcher/process/spawn.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/supervise/restarts.h"

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

// What bprun's main() does for a job.
int run_as_bprun(const std::vector<std::string>& words) {
  auto options = parse_options(words);
  if (const auto* exit = std::get_if<EarlyExit>(&options)) {
    return exit->print();
  }
  auto& job = std::get<Options>(options);
  job.own.insert(job.own.begin(), "bprun");
  job.stderr_counts = false;  // the trial ended well, although its log is incomplete
  const auto plan = make_plan(job);
  if (const auto* exit = std::get_if<EarlyExit>(&plan)) {
    return exit->print();
  }
  adopt_orphans();
  ignore_broken_pipes();
  return run_job(job, std::get<JobPlan>(plan));
}

int try_to_run(const std::vector<std::string>& words) {
  try {
    return run_as_bprun(words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

// The lock is taken before the look at the parent: if the parent dies later, the next sweep finds
// the lock or the record.
int run_attempt(const AttemptSpec& spec, pid_t parent) {
  try {
    const FileLock lock = lock_attempt(spec.folder);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) {
      return kExitTemporary;
    }
    const int code = try_to_run(spec.bprun);
    std::fflush(nullptr);
    write_exit_record(spec.folder,
                      {.attempt = spec.attempt, .exit_code = code, .ended = wall_time()});
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun: %s\n", printable(error.what()).c_str());
    return kExitInternal;
  }
}

Fd open_log(const std::string& path) {
  Fd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!log) throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(errno)));
  return log;
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

Attempt::Attempt(AttemptSpec spec) {
  reserve_exit_record(spec.folder);
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd output = open_log(spec.folder + "/stdout");
  const Fd errors = open_log(spec.folder + "/stderr");
  const pid_t parent = ::getpid();
  pid_ = fork_copy({.input = null.get(), .output = output.get(), .errors = errors.get()},
                   [&spec, parent] { return run_attempt(spec, parent); });
  child_.emplace(pid_);
}

void Attempt::signal(int number) const {
  if (pid_ > 0) {
    ::kill(pid_, number);  // not reaped yet, so the number is still this process's
  }
}

std::optional<int> Attempt::exit_code() {
  const auto status = child_->wait(Deadline(std::chrono::milliseconds{0}));
  if (!status) {
    return std::nullopt;
  }
  pid_ = -1;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : kExitSignal + WTERMSIG(*status);
}

}  // namespace bp::launcher::sweep
