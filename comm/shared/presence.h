// Shows the processes that map a memory which of its ranks still use it. Each rank locks one byte
// of the memory's file, in a description of the file that no other process has, so the kernel
// unlocks it when the rank's process ends, however it does. A rank needs no connection to the
// others for that.
//
// Threads: any.
#pragma once

#include "base/system/fd.h"
#include "base/system/shared_memory.h"

namespace bp {

class Presence {
 public:
  // Marks `rank` as present until this object is destroyed. Where the kernel has no such locks or
  // no /proc, all ranks count as present.
  Presence(const SharedMemory& memory, int rank);

  // Whether another rank has had a Presence and has none any more.
  [[nodiscard]] bool is_gone(int rank) const;

 private:
  Fd file_;  // empty: there are no locks
  int rank_;
};

}  // namespace bp
