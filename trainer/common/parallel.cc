#include "trainer/common/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/system/thread.h"
#include "base/system/usable_cores.h"
#include "bp/error.h"

namespace bp::trainer {

void run_in_parallel(std::size_t count, const std::function<void(std::size_t)>& job) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        job(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::thread> threads;
    static const auto kMost = static_cast<std::size_t>(usable_cores().concurrent());
    try {
      for (std::size_t i = 1; i < std::min(kMost, count); ++i) {
        threads.push_back(start_thread("bp-parallel", work));
      }
    } catch (const Error&) {  // the other threads do the work
    }
    work();
    for (std::thread& thread : threads) thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace bp::trainer
