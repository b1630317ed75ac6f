// A request to stop training early: a signal (trainer/data/stop_signals.h), a file in the run's
// folder, or a request in the job's store. The run saves and ends after the current step, on all
// ranks alike.
#pragma once

#include <string>
#include <utility>

#include "trainer/data/stop_signals.h"

namespace bp {
class Store;
}

namespace bp::trainer {

// Used by the thread that trains. While it lives, the signals are noted and do not end the process.
class StopSignal {
 public:
  // `file`: looked for by requested(); empty on ranks that look for none.
  explicit StopSignal(std::string file) : file_(std::move(file)) {}

  // `store` may be null. What this rank alone has noticed is passed on through the store, so that
  // the launcher, too, knows why ranks end. Throws aborted when the job has failed: there is nobody
  // left to agree with, and a launcher that ends a failed job sends SIGTERM too.
  [[nodiscard]] bool requested(Store* store) const;

 private:
  StopSignals signals_;
  std::string file_;
};

}  // namespace bp::trainer
