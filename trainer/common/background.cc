#include "trainer/common/background.h"

#include <chrono>
#include <memory>

#include "base/system/thread.h"

namespace bp::trainer {

void Background::start(std::function<void()> task) {
  wait();
  const auto work = std::make_shared<std::packaged_task<void()>>(std::move(task));
  thread_ = start_thread(name_, [work] { (*work)(); });
  result_ = work->get_future();
}

void Background::join() {
  if (thread_.joinable()) thread_.join();
}

void Background::wait() {
  join();
  check();
}

void Background::check() {
  constexpr std::chrono::seconds kNow{0};
  if (!result_.valid() || result_.wait_for(kNow) != std::future_status::ready) return;
  std::exchange(result_, {}).get();
}

}  // namespace bp::trainer
