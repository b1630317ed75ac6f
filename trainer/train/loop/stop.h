// A request to stop training early: a signal (trainer/common/stop_signals.h), a file in the run's
// folder, or a request in the job's store. All ranks then save and end after the same step.
#pragma once

#include <string>
#include <utility>

#include "trainer/common/stop_signals.h"

namespace bp {
class Store;
}

namespace bp::trainer {

// While one exists, the signals are noted and do not end the process.
//
// Threads: the thread that trains uses it.
class StopSignal {
 public:
  // `file`: the file that requested() looks for; empty on ranks that look for none.
  explicit StopSignal(std::string file) : file_(std::move(file)) {}

  // Returns whether this rank has noticed a request, or `store` (which may be null) holds one. Puts
  // a request that this rank has noticed into the store, so that the launcher knows why ranks end.
  // Throws aborted if the job has failed: the other ranks cannot agree on a step any more, and the
  // signal may come from the launcher, which ends a failed job with SIGTERM.
  [[nodiscard]] bool requested(Store* store) const;

 private:
  StopSignals signals_;
  std::string file_;
};

}  // namespace bp::trainer
