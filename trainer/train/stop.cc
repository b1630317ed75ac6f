#include "trainer/train/stop.h"

#include <csignal>

#include "bp/error.h"
#include "bp/store.h"
#include "comm/base/text.h"

namespace bp::trainer {
namespace {

// A signal handler can reach nothing but a global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t sigterm_came = 0;

void note_sigterm(int /*signal*/) { sigterm_came = 1; }

}  // namespace

StopSignal::StopSignal() {
  sigterm_came = 0;
  struct sigaction action {};
  action.sa_handler = note_sigterm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
}

StopSignal::~StopSignal() { (void)std::signal(SIGTERM, SIG_DFL); }

bool StopSignal::requested(const Store* store) const {
  const bool signalled = sigterm_came != 0;
  if (store == nullptr) return signalled;
  if (signalled) {
    if (const auto failure = store->job_failure()) {
      throw Error(ErrorCode::aborted, concat("the job has failed: ", failure->text));
    }
  }
  return signalled || store->stop_requested();
}

}  // namespace bp::trainer
