// The signals by which a user or a batch system asks this process to stop: Ctrl-C (SIGINT),
// SIGTERM, SIGHUP, and SIGUSR1 and SIGUSR2, which batch systems send before a job's time is up.
//
// Long work polls. It either ends at its next suitable point, as training does after saving, or
// calls throw_if_stopping(), so that destructors remove partial files.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace bp::trainer {

inline constexpr int kExitStopped = 75;       // asked to stop
inline constexpr int kExitInterrupted = 130;  // asked to stop by Ctrl-C

// While an object of this class exists, the signals are recorded and do not end the process; only a
// Ctrl-C after the first signal ends it at once. Signals that the parent process ignores (nohup, a
// background job of a script) stay ignored. Objects may be nested; the end of the outermost forgets
// the recorded signal.
class StopSignals {
 public:
  // With `speaks`, the first Ctrl-C prints a line on stderr.
  explicit StopSignals(bool speaks = false);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

// Returns the first recorded signal; 0: none. Any thread may call it.
[[nodiscard]] int stop_signal();

// Returns kExitInterrupted after Ctrl-C, else kExitStopped.
[[nodiscard]] int stop_exit_code();

// Thrown to end work that was asked to stop. what(): "stopped on request while reading data.csv".
class Interrupted : public std::runtime_error {
 public:
  Interrupted(const std::string& text, std::string hint)
      : std::runtime_error(text), hint_(std::move(hint)) {}
  [[nodiscard]] const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// Throws Interrupted if a signal was recorded; `what` and `path` say what this process was doing.
// Cheap enough to call for every row of a file.
void throw_if_stopping(const char* what, const std::string& path);

}  // namespace bp::trainer
