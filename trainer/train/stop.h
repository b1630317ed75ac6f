// A wish to stop early: SIGTERM, or a request in the job's store. The run then ends at the end of
// the step, on all ranks alike, with its model saved.
#pragma once

namespace bp {
class Store;
}

namespace bp::trainer {

// Lives once, in the thread that trains. While it lives, SIGTERM is taken note of instead of
// ending the process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // `store` may be null. Throws aborted when the job has failed: there is nobody left to agree
  // with, and a launcher that ends a failed job sends SIGTERM too.
  [[nodiscard]] bool requested(const Store* store) const;
};

}  // namespace bp::trainer
