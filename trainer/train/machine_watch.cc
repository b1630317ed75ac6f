#include "trainer/train/machine_watch.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <string>

#include "bp/log.h"

namespace bp::trainer {

void MachineWatch::after_step(std::int64_t step, bool leads) {
  watch_cores(leads);
  if (!MemoryWatch::due(step) || !leads) return;
  const std::string warning = memory_.look(step, memory_use());
  if (!warning.empty()) log(LogLevel::warn, warning);
}

void MachineWatch::watch_cores(bool leads) {
  const int threads = at::get_num_threads();
  if (threads == 1 || !cores_.due(std::chrono::steady_clock::now())) return;
  if (!cores_.look(core_time(), threads) || !sleep_sooner() || !leads) return;
  log(LogLevel::warn,
      "other processes use the cores of this machine, so a step takes longer; with fewer threads "
      "(OMP_NUM_THREADS) it may take less long");
}

}  // namespace bp::trainer
