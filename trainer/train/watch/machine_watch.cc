#include "trainer/train/watch/machine_watch.h"

#include <ATen/Parallel.h>
#include <omp.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.h"
#include "bp/log.h"

namespace bp::trainer {
namespace {

bool make_sleepers() {
  constexpr int kMost = 256;
  for (const char* variable : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}) {
    if (std::getenv(variable) != nullptr) return false;
  }
  // A team of n counts n - 1 threads. That of the thread that trains is not always as large.
  const int team = omp_get_num_procs() + 1;
  if (team > kMost) return false;
  std::latch made(1);
  const auto body = [&made, team] {
    std::atomic<int> threads = 0;
#pragma omp parallel num_threads(team)
    ++threads;  // without a body, no team is made
    made.count_down();
    std::this_thread::sleep_until(std::chrono::steady_clock::time_point::max());
  };
  try {
    std::thread(body).detach();
  } catch (const std::system_error&) {
    return false;
  }
  made.wait();
  return true;
}

}  // namespace

void MachineWatch::after_step(std::int64_t step, bool leads) {
  cores_.look("a step", leads);
  if (!MemoryWatch::due(step) || !leads) return;
  const std::string warning = memory_.look(step, memory_use());
  if (!warning.empty()) log(LogLevel::warn, warning);
}

void CoreWatch::look(const char* what, bool leads) {
  const int threads = at::get_num_threads();
  if (threads == 1 || !cores_.due(std::chrono::steady_clock::now())) return;
  if (!cores_.look(core_time(), threads) || !sleep_sooner() || !leads) return;
  log(LogLevel::warn, concat("other processes use the cores of this machine, so ", what,
                             " takes longer; with fewer threads (OMP_NUM_THREADS) it may take less "
                             "long"));
}

CoreTime core_time() {
  std::int64_t all = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "schedstat");
    std::int64_t ran = 0;
    std::int64_t waited = 0;
    file >> ran >> waited;
    if (file) all += waited;
  }
  timespec used = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return {std::chrono::steady_clock::now(),
          std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec),
          std::chrono::nanoseconds(all)};
}

bool BusyCores::due(std::chrono::steady_clock::time_point now) const {
  return !found_ && now >= begin_.at + kWindow;
}

bool BusyCores::look(const CoreTime& now, int threads) {
  if (!due(now.at)) return false;
  const CoreTime begin = std::exchange(begin_, now);
  if (begin.at == std::chrono::steady_clock::time_point()) return false;  // the first window begins
  const auto time = now.at - begin.at;
  found_ =
      now.waited - begin.waited > kWaited * time && now.used - begin.used < kUsed * threads * time;
  return found_;
}

bool sleep_sooner() {
  static std::once_flag once;
  bool changed = false;
  std::call_once(once, [&] { changed = make_sleepers(); });
  return changed;
}

}  // namespace bp::trainer
