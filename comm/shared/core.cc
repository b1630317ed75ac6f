#include "comm/shared/core.h"

#include <sched.h>

namespace bp {

void leave_core() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  cpu_set_t others = usable;
  CPU_CLR(static_cast<unsigned>(::sched_getcpu()), &others);
  if (CPU_COUNT(&others) == 0) return;
  if (::sched_setaffinity(0, sizeof(others), &others) == 0) {
    ::sched_setaffinity(0, sizeof(usable), &usable);  // it may come back when it likes
  }
}

}  // namespace bp
