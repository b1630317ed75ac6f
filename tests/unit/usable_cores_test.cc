#include "base/system/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <string>

#include "base/text.h"
#include "tests/support/scratch.h"

namespace bp {
namespace {

TEST(UsableCores, OfWhichTheQuotaLeavesSome) {
  UsableCores usable{.threads = 8, .cores = 4, .quota = {}};
  EXPECT_EQ(usable.concurrent(), 8);
  EXPECT_EQ(usable.computing(), 4);
  usable.quota = 3.5;
  EXPECT_EQ(usable.concurrent(), 3);
  EXPECT_EQ(usable.computing(), 3);
  usable.quota = 0.5;
  EXPECT_EQ(usable.concurrent(), 1);
  usable.quota = 6;
  EXPECT_EQ(usable.concurrent(), 6);
  EXPECT_EQ(usable.computing(), 4);
}

// Every hardware thread of this process's mask shares one made-up core with all others.
TEST(UsableCores, HardwareThreadsOfACoreCountOnce) {
  const Scratch tree;
  const auto write = [&tree](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(tree.path(path)).parent_path());
    tree.write(path, text);
  };
  const std::string processors = "sys/devices/system/cpu";
  EXPECT_EQ(usable_cores(tree.path()).cores, usable_threads()) << "without any of the files";
  write(processors + "/smt/active", "1\n");
  EXPECT_EQ(usable_cores(tree.path()).cores, usable_threads()) << "without the cores";
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    write(concat(processors, "/cpu", i, "/topology/thread_siblings_list"), "0-1023\n");
  }
  EXPECT_EQ(usable_cores(tree.path()).cores, 1);
  EXPECT_EQ(usable_cores(tree.path()).threads, usable_threads());
  write(processors + "/smt/active", "0\n");
  EXPECT_EQ(usable_cores(tree.path()).cores, usable_threads());
}

}  // namespace
}  // namespace bp
