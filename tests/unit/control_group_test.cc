#include "base/system/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/text.h"
#include "tests/support/scratch.h"

namespace bp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kTwo =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char* kOne =
    "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 /docker/77 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

TEST(GroupFolders, AreTheProcessesOwnAndThoseAround) {
  EXPECT_THAT(group_folders("memory", "0::/user.slice/x.scope\n", kTwo),
              ElementsAre("/sys/fs/cgroup/user.slice/x.scope", "/sys/fs/cgroup/user.slice",
                          "/sys/fs/cgroup"));
  EXPECT_THAT(group_folders("cpu", "0::/\n", kTwo), ElementsAre("/sys/fs/cgroup"));
}

TEST(GroupFolders, OfVersionOneBeginWhereTheMountDoes) {
  const std::string groups = "9:cpu,cpuacct:/docker/77\n4:memory:/docker/77/a\n0::/docker/77\n";
  EXPECT_THAT(group_folders("memory", groups, kOne),
              ElementsAre("/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"));
  EXPECT_THAT(group_folders("cpu", groups, kOne),
              ElementsAre("/sys/fs/cgroup/cpu,cpuacct/docker/77",
                          "/sys/fs/cgroup/cpu,cpuacct/docker", "/sys/fs/cgroup/cpu,cpuacct"));
  // another group whose name begins with the same letters
  EXPECT_THAT(group_folders("memory", "4:memory:/docker/778\n", kOne),
              ElementsAre("/sys/fs/cgroup/memory/docker/778", "/sys/fs/cgroup/memory/docker",
                          "/sys/fs/cgroup/memory"));
}

TEST(GroupFolders, OfBothVersionsAreOfTheOneWithTheController) {
  const std::string both = concat(kOne, kTwo);
  EXPECT_THAT(group_folders("memory", "4:memory:/docker/77\n0::/elsewhere\n", both),
              ElementsAre("/sys/fs/cgroup/memory"));
  EXPECT_THAT(group_folders("pids", "4:memory:/docker/77\n0::/elsewhere\n", both),
              ElementsAre("/sys/fs/cgroup/elsewhere", "/sys/fs/cgroup"));
}

TEST(GroupFolders, AreAbsentWithoutAGroupOrAMount) {
  EXPECT_THAT(group_folders("memory", "", concat(kOne, kTwo)), IsEmpty());
  EXPECT_THAT(group_folders("memory", "0::/a\n", kOne), IsEmpty());
  EXPECT_THAT(group_folders("memory", "nonsense\n::\n", "nonsense - x\n"), IsEmpty());
}

// A tree of files as the kernel shows them.
class GroupFiles : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(tree_.path(path)).parent_path());
    tree_.write(path, text);
  }
  std::vector<std::string> folders(const char* controller) {
    return group_folders_of("self", controller, tree_.path());
  }
  void use(const std::string& membership, const std::string& mounts) {
    write("proc/self/cgroup", membership);
    write("proc/self/mountinfo", mounts);
  }

  const Scratch tree_;
};

TEST_F(GroupFiles, OfVersionTwo) {
  use("0::/pod/bp\n", kTwo);
  write("sys/fs/cgroup/pod/bp/memory.max", "max\n");
  write("sys/fs/cgroup/pod/bp/cpu.max", "max 100000\n");
  EXPECT_FALSE(group_memory(folders("memory")));
  EXPECT_FALSE(cpu_quota(folders("cpu")));
  // The pod's limits hold for its container.
  write("sys/fs/cgroup/pod/memory.max", "1000\n");
  write("sys/fs/cgroup/pod/memory.current", "700\n");
  write("sys/fs/cgroup/pod/memory.stat", "anon 5\ninactive_file 300\nactive_file 9\n");
  write("sys/fs/cgroup/pod/cpu.max", "350000 100000\n");
  ASSERT_TRUE(group_memory(folders("memory")));
  EXPECT_EQ(group_memory(folders("memory"))->limit, 1000);
  EXPECT_EQ(group_memory(folders("memory"))->used, 400);
  EXPECT_EQ(cpu_quota(folders("cpu")), 3.5);
  // The lowest limit counts.
  write("sys/fs/cgroup/pod/bp/memory.max", "900\n");
  write("sys/fs/cgroup/pod/bp/memory.current", "20\n");
  write("sys/fs/cgroup/pod/bp/cpu.max", "50000 100000\n");
  EXPECT_EQ(group_memory(folders("memory"))->limit, 900);
  EXPECT_EQ(group_memory(folders("memory"))->used, 20);
  EXPECT_EQ(cpu_quota(folders("cpu")), 0.5);
}

TEST_F(GroupFiles, OfVersionOneBesideVersionTwo) {
  use("9:cpu,cpuacct:/a\n4:memory:/docker/77\n0::/a\n", concat(kTwo, kOne));
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(group_memory(folders("memory")));
  EXPECT_FALSE(cpu_quota(folders("cpu")));
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "60000000\n");
  write("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 10000000\n");
  write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "75000\n");
  write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(group_memory(folders("memory"))->limit, 64 << 20);
  EXPECT_EQ(group_memory(folders("memory"))->used, 50'000'000);
  EXPECT_EQ(cpu_quota(folders("cpu")), 1.5);
}

TEST_F(GroupFiles, ThatAreMissingOrEmptyLimitNothing) {
  EXPECT_THAT(folders("memory"), IsEmpty());
  use("0::/pod\n", kTwo);
  EXPECT_FALSE(group_memory(folders("memory")));
  write("sys/fs/cgroup/pod/memory.max", "");
  write("sys/fs/cgroup/pod/cpu.max", "nonsense\n");
  EXPECT_FALSE(group_memory(folders("memory")));
  EXPECT_FALSE(cpu_quota(folders("cpu")));
}

}  // namespace
}  // namespace bp
