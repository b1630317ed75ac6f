#include "trainer/common/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>

#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// A signal handler can access only globals.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> noted_signal = 0;
std::atomic<bool> answers_ctrl_c = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a handler must not wait");
std::mutex scopes_mutex;  // guards the next two
int nested_scopes = 0;
std::array<struct sigaction, kStopSignals.size()> actions_before{};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void say_in_handler(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

void note_stop_signal(int number) {
  if (number == SIGINT && noted_signal != 0) {
    if (answers_ctrl_c) say_in_handler("\nbert_train: ended at once by Ctrl-C\n");
    ::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);  // delivered when this handler returns
    return;
  }
  if (noted_signal != 0) return;
  noted_signal = number;
  if (number == SIGINT && answers_ctrl_c) {
    say_in_handler("\nbert_train: Ctrl-C: stopping (press Ctrl-C again to end at once)\n");
  }
}

bool is_ignored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals(bool speaks) {
  const std::lock_guard lock(scopes_mutex);
  if (nested_scopes++ > 0) return;
  answers_ctrl_c = speaks;
  struct sigaction action {};
  action.sa_handler = note_stop_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    ::sigaction(kStopSignals[i], nullptr, &actions_before[i]);
    if (!is_ignored(actions_before[i])) ::sigaction(kStopSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  const std::lock_guard lock(scopes_mutex);
  if (--nested_scopes > 0) return;
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    ::sigaction(kStopSignals[i], &actions_before[i], nullptr);
  }
  noted_signal = 0;
}

int stop_signal() { return noted_signal; }

int stop_exit_code() { return stop_signal() == SIGINT ? kExitInterrupted : kExitStopped; }

void throw_if_stopping(const char* what, const std::string& path) {
  if (noted_signal == 0) return;
  throw Interrupted(concat("stopped on request while ", what, " ", path),
                    "the same command starts again");
}

}  // namespace bp::trainer
