// Warns of a machine whose memory or cores run short while a run trains.
#pragma once

#include <cstdint>

#include "trainer/train/busy_cores.h"
#include "trainer/train/memory_watch.h"

namespace bp::trainer {

class MachineWatch {
 public:
  // Call it after each step, from the thread that trains. `leads`: this rank is the first of its
  // host, and warns, since the ranks of a host share it.
  void after_step(std::int64_t step, bool leads);

 private:
  void watch_cores(bool leads);

  MemoryWatch memory_;
  BusyCores cores_;
};

}  // namespace bp::trainer
