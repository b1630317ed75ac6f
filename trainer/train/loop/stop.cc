#include "trainer/train/loop/stop.h"

#include <unistd.h>

#include "base/text.h"
#include "bp/error.h"
#include "bp/store.h"

namespace bp::trainer {

bool StopSignal::requested(Store* store) const {
  const bool here = stop_signal() != 0 || (!file_.empty() && ::access(file_.c_str(), F_OK) == 0);
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
