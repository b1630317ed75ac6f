#include "trainer/train/stop.h"

#include <unistd.h>

#include <csignal>
#include <utility>

#include "bp/error.h"
#include "bp/store.h"
#include "comm/base/text.h"

namespace bp::trainer {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGUSR1, SIGUSR2};

// A signal handler can reach nothing but a global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t signal_came = 0;

void note_signal(int /*signal*/) { signal_came = 1; }

}  // namespace

StopSignal::StopSignal(std::string file) : file_(std::move(file)) {
  signal_came = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

StopSignal::~StopSignal() {
  for (const int signal : kSignals) (void)std::signal(signal, SIG_DFL);
}

bool StopSignal::requested(Store* store) const {
  const bool here = signal_came != 0 || (!file_.empty() && ::access(file_.c_str(), F_OK) == 0);
  if (store == nullptr) return here;
  if (here) {
    if (const auto failure = store->job_failure()) {
      throw Error(ErrorCode::aborted, concat("the job has failed: ", failure->text));
    }
    if (!store->stop_requested()) store->request_stop();
  }
  return here || store->stop_requested();
}

}  // namespace bp::trainer
