// docs/acceptance.md, Launcher: `bprun doctor` compares versions, clocks, limits, disk space, data
// and GPUs.
#include "launcher/tools/examine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"

namespace bp::launcher {
namespace {

using testing::HasSubstr;

Hello hello(const std::string& version, const std::string& build) {
  Hello hello;
  hello.version = version;
  hello.build = build;
  return hello;
}

HostAnswer clock(double ahead, double margin) {
  HostAnswer answer;
  answer.clock_ahead = ahead;
  answer.clock_margin = margin;
  return answer;
}

TEST(Examine, Versions) {
  EXPECT_EQ(check_version(hello("1", "a"), hello("1", "a")).grade, Grade::ok);
  EXPECT_EQ(check_version(hello("1", "b"), hello("1", "a")).grade, Grade::warn);
  const Check other = check_version(hello("2", "b"), hello("1", "a"));
  EXPECT_EQ(other.grade, Grade::fail);
  EXPECT_EQ(other.text, "2 (build b); here it is 1 (build a)");
  EXPECT_THAT(other.fix, HasSubstr("--remote-bprun"));
}

TEST(Examine, CoresThatThreadsFollow) {
  Hello hello;
  hello.cores = 8;
  HostFacts facts;
  facts.cores = 16;
  facts.usable_threads = facts.usable_cores = 8;
  EXPECT_EQ(check_cores(hello, facts, 9).text, "8 of 16 may be used");
  EXPECT_EQ(check_cores(hello, facts, 9).grade, Grade::ok);
  facts.usable_cores = 4;
  hello.cores = 4;
  EXPECT_EQ(check_cores(hello, facts, 1).text,
            "8 of 16 may be used, the hardware threads of 4 cores; OMP_NUM_THREADS divides 4");
  facts.usable_cores = 8;
  facts.cpu_quota = 3.5;
  hello.cores = 3;
  EXPECT_EQ(check_cores(hello, facts, 3).text,
            "8 of 16 may be used, for the time of 3.5 (quota of the control group); "
            "OMP_NUM_THREADS divides 3");
  EXPECT_EQ(check_cores(hello, facts, 3).grade, Grade::ok);
  EXPECT_EQ(check_cores(hello, facts, 4).grade, Grade::warn);
  EXPECT_EQ(check_cores(hello, facts, 4).fix,
            "start fewer ranks than 4 here, or raise the quota (limits.cpu, docker --cpus, "
            "CPUQuota=)");
}

TEST(Examine, ClocksWithinTheirMargin) {
  EXPECT_EQ(check_clock(clock(-0.25, 0.01)).text, "250.0 ms behind this machine, to 10.0 ms");
  EXPECT_EQ(check_clock(clock(10799.9999, 2)).text, "03:00:00 ahead of this machine, to 2.0 s");
  EXPECT_EQ(check_clock(clock(0.4, 0)).grade, Grade::ok);
  EXPECT_EQ(check_clock(clock(-0.7, 0)).grade, Grade::warn);
  EXPECT_EQ(check_clock(clock(0.7, 0.3)).grade, Grade::ok) << "the clock may be only 0.4 s ahead";
  EXPECT_EQ(check_clock(clock(7, 0.3)).grade, Grade::fail);
}

TEST(Examine, Limits) {
  HostFacts facts;
  facts.open_files = 256;
  EXPECT_EQ(check_open_files(facts).grade, Grade::warn);
  facts.open_files = 1024;
  EXPECT_EQ(check_open_files(facts).grade, Grade::ok);
  facts.locked_memory = 8 << 20;
  EXPECT_EQ(check_locked_memory(facts).grade, Grade::ok);
  facts.infiniband = true;
  EXPECT_EQ(check_locked_memory(facts).grade, Grade::warn);
  facts.locked_memory = kUnlimited;
  EXPECT_EQ(check_locked_memory(facts).text, "unlimited");
  EXPECT_EQ(check_locked_memory(facts).grade, Grade::ok);
}

TEST(Examine, Space) {
  const std::uint64_t giga = 1U << 30U;
  EXPECT_EQ(check_space({"/dev/shm", "", giga, giga}).grade, Grade::ok);
  EXPECT_EQ(check_space({"/dev/shm", "", 1 << 20, giga}).grade, Grade::warn);
  EXPECT_EQ(check_space({"/data", "", 6 * giga, 9 * giga}).grade, Grade::ok);
  EXPECT_EQ(check_space({"/data", "", giga, 9 * giga}).grade, Grade::warn);
  const Check full = check_space({"/data", "", 1 << 20, 9 * giga});
  EXPECT_EQ(full.grade, Grade::fail);
  EXPECT_EQ(full.text, "/data: 1.0 MiB free of 9.0 GiB");
  EXPECT_THAT(check_space({"/data", "Read-only file system"}).fix,
              HasSubstr("let this user write"));
  EXPECT_THAT(check_space({"/data", "no room for another file (df -i)"}).fix,
              HasSubstr("delete files"));
}

TEST(Examine, DataMustBeTheSameEverywhere) {
  const PathFacts five{"d", "", 5, false};
  EXPECT_EQ(check_data(five, nullptr).text, "d: 5 bytes");
  EXPECT_EQ(check_data(five, &five).grade, Grade::ok);
  const Check other = check_data({"d", "", 6, false}, &five);
  EXPECT_EQ(other.grade, Grade::fail);
  EXPECT_EQ(other.text, "d: 6 bytes (6 bytes), elsewhere 5");
  EXPECT_EQ(check_data({"d", "", 0, true}, &five).grade, Grade::fail);
}

// docs/features.md, Launching: A look whether GPUs are free and folders exist | `bprun doctor`
TEST(Examine, Gpus) {
  GpuList list{.driver = "550"};
  EXPECT_EQ(check_gpus(list, {}).grade, Grade::ok);
  list.gpus.resize(2);
  list.gpus[1].index = 1;
  EXPECT_EQ(check_gpus(list, {1, 0}).text, "2, driver 550");
  EXPECT_EQ(check_gpus(list, {2}).text, "GPU 2 is requested; there are 2");
  EXPECT_EQ(check_gpus(list, {2}).grade, Grade::fail);
  list.gpus[1].processes = {{7, "ada", "python3", 1U << 30U}};
  EXPECT_EQ(check_gpus(list, {}).grade, Grade::warn);
  EXPECT_EQ(check_gpus(list, {}).text,
            "2, driver 550; GPU 1 is in use by pid 7 (ada, python3, 1.0 GiB)");
}

TEST(Examine, LibrariesForGpus) {
  const Check check = check_libraries({{"CUDA", "13.0 (libcudart.so.13)", ""},
                                       {"NCCL", "", "NCCL is not found (libnccl.so.2)"},
                                       {"kernels", "libbp_cuda.so", "it is too old"}});
  EXPECT_EQ(check.grade, Grade::ok);
  EXPECT_EQ(check.text,
            "CUDA 13.0 (libcudart.so.13); NCCL not available: NCCL is not found (libnccl.so.2); "
            "kernels libbp_cuda.so, not usable: it is too old");
}

TEST(Facts, RoundTripAsJson) {
  HostFacts facts;
  facts.clock = 1.5;
  facts.locked_memory = kUnlimited;
  facts.paths = {{"a b\xff", "", 7, false}};
  facts.libraries = {{"NCCL", "2.28.9 (libnccl.so.2)", ""}};
  facts.gpus.gpus.resize(1);
  facts.gpus.gpus[0].processes = {{7, "ada", "x", 3}};
  const HostFacts read = facts_of(json_text(facts));
  EXPECT_EQ(read.clock, 1.5);
  EXPECT_EQ(read.locked_memory, kUnlimited);
  EXPECT_EQ(read.paths.at(0).path, "a b\xEF\xBF\xBD");
  EXPECT_EQ(read.gpus.gpus.at(0).processes.at(0).user, "ada");
  EXPECT_EQ(read.libraries.at(0).found, "2.28.9 (libnccl.so.2)");
  for (const char* text : {"", "[]", "{", R"({"clock": "x"})", "{}"}) {
    EXPECT_THROW((void)facts_of(text), Error) << text;
  }
}

TEST(Facts, RefuseAFractionForAWholeNumber) {
  const std::string good = json_text(HostFacts{});
  const std::string memory = R"("locked_memory":)";
  for (const char* number : {"1.5", "8e43", "99999999999999999999999"}) {
    std::string bad = good;
    bad.replace(bad.find(memory) + memory.size(), 1, number);
    try {
      (void)facts_of(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot parse the facts of an agent: a number is "));
    }
  }
}

}  // namespace
}  // namespace bp::launcher
