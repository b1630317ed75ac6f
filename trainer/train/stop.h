// A wish to stop early: SIGTERM, SIGUSR1 or SIGUSR2 (what batch systems send before a job's time is
// up), a file in the run's folder, or a request in the job's store. The run then saves and ends
// after the step under way, on all ranks alike.
#pragma once

#include <string>

namespace bp {
class Store;
}

namespace bp::trainer {

// Lives once, in the thread that trains. While it lives, the signals are taken note of instead of
// ending the process.
class StopSignal {
 public:
  // `file`: looked for by requested(); empty on ranks that look for none.
  explicit StopSignal(std::string file);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // `store` may be null. What this rank alone has noticed is passed on through the store, so that
  // the launcher, too, knows why ranks end. Throws aborted when the job has failed: there is nobody
  // left to agree with, and a launcher that ends a failed job sends SIGTERM too.
  [[nodiscard]] bool requested(Store* store) const;

 private:
  std::string file_;
};

}  // namespace bp::trainer
