#include "base/system/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <array>

namespace bp {
namespace {

bool blocks(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, signal) == 1;
}

TEST(StartThread, LeavesSignalsToTheProgramAndHasAName) {
  std::array<char, 16> name{};
  bool child_blocks = false;
  start_thread("a-name-of-twenty-characters", [&] {
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    child_blocks = blocks(SIGTERM);
  }).join();
  EXPECT_STREQ(name.data(), "a-name-of-twent");
  EXPECT_TRUE(child_blocks);
  EXPECT_FALSE(blocks(SIGTERM)) << "the caller's mask must not change";
}

}  // namespace
}  // namespace bp
