// bprun doctor and bprun gpus, on this machine and on hosts behind ssh. The GPUs are those of
// fake_nvml.cc, whose library is on LD_LIBRARY_PATH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/gpus/gpu.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/e2e/launcher/ssh_fixture.h"
#include "tests/support/places.h"

namespace bp::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Json = nlohmann::json;

std::string two_gpus() {
  return concat("FAKE_NVML=NVIDIA A|85899345920|12884901888|97|", ::getpid(),
                ",999999999\nNVIDIA B|85899345920|0|0|");
}

// docs/acceptance.md, Launcher: `bprun doctor` finds problems of this machine before a job starts.
TEST(Doctor, ChecksThisMachine) {
  BprunProcess bprun({{"doctor", "/etc/passwd"}});
  EXPECT_EQ(bprun.finish(), 0) << bprun.out();
  EXPECT_THAT(bprun.out(), ContainsRegex("^localhost\n  ok    reach    this machine, "));
  EXPECT_THAT(bprun.out(), ContainsRegex("\n  ok    version  0\\.[0-9.]+ \\(build "));
  EXPECT_THAT(bprun.out(), ContainsRegex("\n  ok    clock    "));
  EXPECT_THAT(bprun.out(), ContainsRegex("\n  ok    data     /etc/passwd: "));
  EXPECT_THAT(bprun.out(), ContainsRegex("\n[0-9]+ ok, [0-9]+ warn, 0 fail\n$"));
  EXPECT_EQ(bprun.err(), "");
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(Doctor, FailsForMissingDataAndSuggestsAFix) {
  BprunProcess bprun({{"doctor", "no such data"}});
  EXPECT_EQ(bprun.finish(), 1);
  EXPECT_THAT(bprun.out(), HasSubstr("\n  fail  data     no such data: No such file or directory\n"
                                     "                 fix: copy or mount it there"));
  EXPECT_THAT(bprun.out(), HasSubstr(" 1 fail\n"));
}

// A network namespace begins with its loopback interface down.
TEST(Doctor, SaysWhatWouldFailOnAHostWithoutRoomOrLoopback) {
  const Scratch folder;
  constexpr const char* kBadHost =
      "mkdir $0/few && mount -t tmpfs -o nr_inodes=1 none $0/few && "
      "mount -t tmpfs -o ro none /dev/shm && cd $0/few && exec \"$@\"";
  BprunProcess bprun(
      {.arguments = {"doctor"},
       .before = {"/usr/bin/env", "unshare", "-rmn", "sh", "-c", kBadHost, folder.path()}});
  const int code = bprun.finish();
  if (bprun.out().empty())
    GTEST_SKIP() << "this machine permits no mount namespaces: " << bprun.err();
  EXPECT_EQ(code, 1) << bprun.out();
  EXPECT_THAT(bprun.out(),
              AllOf(HasSubstr("  warn  shm      /dev/shm: Read-only file system\n"),
                    HasSubstr("/few: no room for another file, whatever its size (df -i)\n"),
                    ContainsRegex("  fail  loopback processes of this host do not reach each other "
                                  "at 127\\.0\\.0\\.1: [^\n]+\n +fix: ip link set dev lo up")));
}

// docs/acceptance.md, Launcher: `bprun doctor` names a host that it does not reach, and continues
// with the others.
// docs/features.md, Use: ssh, ports and shared folders | `bprun doctor`, docs/bprun.md
TEST(Doctor, NamesAnUnreachableHostAndContinues) {
  BprunProcess bprun(
      {{"doctor", "-H", "localhost,far", "--ssh", "sh -c 'echo no way >&2; exit 9'", "--json"}});
  EXPECT_EQ(bprun.finish(), 1);
  const Json hosts = Json::parse(bprun.out()).at("hosts");
  EXPECT_EQ(hosts.at(0).at("checks").at(0).at("grade"), "ok");
  EXPECT_EQ(hosts.at(1).at("host"), "far");
  EXPECT_EQ(hosts.at(1).at("checks").size(), 1U);
  EXPECT_EQ(hosts.at(1).at("checks").at(0).at("grade"), "fail");
  EXPECT_EQ(hosts.at(1).at("checks").at(0).at("text"), "host far could not be reached: no way");
}

TEST(Doctor, GivesUpOnAHostThatDoesNotAnswer) {
  BprunProcess bprun(
      {{"doctor", "-H", "far", "--ssh", "sh -c 'exec sleep 60'", "--start-timeout", "300ms"}});
  EXPECT_EQ(bprun.finish(), 1);
  EXPECT_THAT(bprun.out(), HasSubstr("  fail  reach    no answer within 0.3 s\n"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

TEST(Doctor, RefusesUnknownOptions) {
  BprunProcess bprun({{"doctor", "--grace", "1s"}});
  EXPECT_EQ(bprun.finish(), 2);
  EXPECT_THAT(bprun.err(), HasSubstr("bprun doctor: "));
  EXPECT_THAT(bprun.err(), HasSubstr("\n  hint: bprun doctor --help"));
}

// Builds with sanitizers use another linker.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Every library delays the start of a job twice, in bprun and in its agent. Loading libhwy, which
// the kernels of bp::comm need, takes 4 ms.
TEST(Tools, LoadNoLibraryThatOnlyRanksNeed) {
  BprunProcess bprun({.arguments = {}, .environment = {"LD_TRACE_LOADED_OBJECTS=1"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("libcrypto.so"));
  EXPECT_THAT(bprun.out(), Not(HasSubstr("libhwy.so")));
  EXPECT_THAT(bprun.out(), Not(HasSubstr("libtorch")));
}
#endif

TEST(Tools, HelpHasTheirNameAndFitsATerminal) {
  for (const std::string tool : {"doctor", "gpus"}) {
    BprunProcess bprun({{tool, "--help"}});
    EXPECT_EQ(bprun.finish(), 0);
    EXPECT_THAT(bprun.out(), HasSubstr("Usage: bprun " + tool + " [OPTIONS]"));
    std::istringstream lines(bprun.out());
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80U) << line;
    }
  }
}

// docs/acceptance.md, Launcher: Help fits 80 columns, and a misspelt word gets the nearest.
TEST(Tools, MisspeltWordsGetTheNearest) {
  BprunProcess option({{"doctor", "--jsn"}});
  EXPECT_EQ(option.finish(), 2);
  EXPECT_THAT(option.err(), HasSubstr("\n  hint: did you mean --json? bprun doctor --help"));
  BprunProcess tool({{"docter", "-H", "localhost"}});
  EXPECT_EQ(tool.finish(), 127);
  EXPECT_THAT(tool.err(), HasSubstr("\n  hint: did you mean bprun doctor?\n"));
  BprunProcess program({{"-n", "2", "bert_trian", "x.csv"}});
  EXPECT_EQ(program.finish(), 127);
  EXPECT_THAT(program.err(), HasSubstr("\n  hint: did you mean bert_train?\n"));
  BprunProcess other({{"-n", "1", "no_such_program"}});
  EXPECT_EQ(other.finish(), 127);
  EXPECT_THAT(other.err(), Not(HasSubstr("did you mean")));
}

TEST(Doctor, IsStillAProgramsNameAfterTwoDashes) {
  BprunProcess bprun({{"--", "doctor"}});
  EXPECT_EQ(bprun.finish(), 127);
  EXPECT_THAT(bprun.first_error_line(), HasSubstr("doctor was not found on localhost"));
}

// docs/acceptance.md, Launcher: GPUs are listed with the processes that use them.
TEST(Gpus, AreListedWithTheirProcesses) {
  BprunProcess bprun({.arguments = {"gpus"}, .environment = {two_gpus()}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("localhost: 2 GPUs, driver 550.54\n"));
  EXPECT_THAT(
      bprun.out(),
      HasSubstr(
          "   0  NVIDIA A                      load  97 %    12.0 GiB of 80.0 GiB used  pid "));
  EXPECT_THAT(bprun.out(),
              ContainsRegex(concat("pid ", ::getpid(), " \\([^,]+, ", program_invocation_short_name,
                                   ", 1.0 GiB\\), "
                                   "pid 999999999 \\(of another container, 1.0 GiB\\)\n")));
  EXPECT_THAT(bprun.out(), HasSubstr("80.0 GiB used  free\n"));
}

TEST(Gpus, AreOneJsonObject) {
  BprunProcess bprun({.arguments = {"gpus", "--json"}, .environment = {two_gpus()}});
  EXPECT_EQ(bprun.finish(), 0);
  const Json host = Json::parse(bprun.out()).at("hosts").at(0);
  EXPECT_EQ(host.at("host"), "localhost");
  EXPECT_EQ(host.at("gpus").at(0).at("load"), 97);
  EXPECT_EQ(host.at("gpus").at(0).at("processes").at(0).at("pid"), ::getpid());
  EXPECT_EQ(host.at("gpus").at(1).at("uuid"), "GPU-1");
}

TEST(Gpus, OfAMachineWhoseDriverIsNotLoadedAreNone) {
  BprunProcess bprun({.arguments = {"gpus"}, .environment = {"FAKE_NVML=broken"}});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_EQ(bprun.out(), "localhost: none: libnvidia-ml.so.1: Driver Not Loaded\n");
}

TEST(Gpus, OfAMachineWithoutADriverAreNone) {
  BprunProcess bprun({.arguments = {"gpus"}, .environment = {"LD_LIBRARY_PATH="}});
  EXPECT_EQ(bprun.finish(), 0);
  if (bprun.out().find("none") == std::string::npos) {
    GTEST_SKIP() << "this machine has a real driver";
  }
  EXPECT_EQ(bprun.out(), "localhost: none: no NVIDIA driver (libnvidia-ml.so.1 was not found)\n");
}

TEST(Gpus, MayHaveManyProcesses) {
  std::string pids;
  for (int i = 0; i < 100; ++i) {
    pids += concat(i == 0 ? "" : ",", 1'000'000'000 + i);
  }
  ::setenv("FAKE_NVML", concat("N|1|1|1|", pids).c_str(), 1);
  const auto list = launcher::list_gpus();
  ASSERT_EQ(list.gpus.size(), 1U) << list.problem;
  EXPECT_EQ(list.gpus[0].processes.size(), 100U);
  ::unsetenv("FAKE_NVML");
}

BprunProcess with_gpus(std::vector<std::string> arguments) {
  return BprunProcess({.arguments = std::move(arguments), .environment = {two_gpus()}});
}

// docs/acceptance.md, Launcher: A job gets the least busy GPUs, one per rank unless `--share-gpus`
// is given.
TEST(GpuJob, EachRankSeesTheGpusOfItsHost) {
  BprunProcess bprun = with_gpus(
      {"-n", "2", "--gpus", "least:2", "printenv", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"});
  EXPECT_EQ(bprun.finish(), 0);
  for (const char* line : {"[0] 1,0\n", "[1] 1,0\n", "[1] PCI_BUS_ID\n"}) {
    EXPECT_THAT(bprun.out(), HasSubstr(line)) << bprun.out();
  }
  EXPECT_THAT(bprun.first_error_line(),
              ContainsRegex(concat("^bprun: warning: GPU 0 on localhost is in use by pid ",
                                   ::getpid(), " \\(.*load 97 %, 12.0 GiB of 80.0 GiB used$")));
}

TEST(GpuJob, HasOneRankPerGpuByDefault) {
  BprunProcess bprun = with_gpus({"--gpus", "all", "printenv", "WORLD_SIZE"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("[1] 2\n"));
}

TEST(GpuJob, LogicalHostsOfAMachineDivideItsGpus) {
  BprunProcess bprun = with_gpus(
      {"-H", "localhost:1,127.0.0.1:1", "--gpus", "all", "printenv", "CUDA_VISIBLE_DEVICES"});
  EXPECT_EQ(bprun.finish(), 0);
  EXPECT_THAT(bprun.out(), HasSubstr("[0] 0\n"));
  EXPECT_THAT(bprun.out(), HasSubstr("[1] 1\n"));
}

TEST(GpuJob, SharesGpusOnlyOnRequest) {
  BprunProcess refused = with_gpus({"-n", "3", "--gpus", "0,1", "true"});
  EXPECT_EQ(refused.finish(), 69);
  EXPECT_EQ(refused.err(),
            "bprun: host localhost has 2 GPUs for 3 ranks; give it fewer slots, or let ranks share "
            "one: --share-gpus\n");
  BprunProcess shared =
      with_gpus({"-n", "3", "--gpus", "0,1", "--share-gpus", "printenv", "CUDA_VISIBLE_DEVICES"});
  EXPECT_EQ(shared.finish(), 0);
  for (const char* line : {"[0] 0\n", "[1] 1\n", "[2] 0\n"}) {
    EXPECT_THAT(shared.out(), HasSubstr(line));
  }
}

TEST(GpuJob, IsRefusedIfAGpuDoesNotExist) {
  BprunProcess bprun = with_gpus({"--gpus", "7", "true"});
  EXPECT_EQ(bprun.finish(), 69);
  EXPECT_EQ(bprun.err(), "bprun: host localhost has no GPU 7: it has 2 (bprun gpus lists them)\n");
}

// Returns what bash offers to complete the last of these words.
std::string completed(const std::string& words, int last) {
  const std::string script =
      concat("source <(", kBinDir, "/bprun --completion bash); COMP_WORDS=(", words,
             "); COMP_CWORD=", last, "; _bprun; echo \"${COMPREPLY[*]}\"");
  // bash warns of a locale that is not installed.
  BprunProcess bash(
      {.arguments = {"--prefix", "none", "bash", "-c", script}, .environment = {"LC_ALL=C"}});
  EXPECT_EQ(bash.finish(), 0);
  EXPECT_EQ(bash.err(), "");
  return bash.out();
}

TEST(Completion, KnowsOptionsTheirValuesAndTools) {
  EXPECT_EQ(completed("bprun --max", 1), "--max-restarts\n");
  EXPECT_EQ(completed("bprun -n 2 --kill", 3), "--kill-silent\n");
  EXPECT_EQ(completed("bprun --prefix h", 2), "horovod\n");
  EXPECT_EQ(completed("bprun -n ''", 2), "\n");
  EXPECT_EQ(completed("bprun docto", 1), "doctor\n");
  EXPECT_EQ(completed("bprun -n 2 sh /proc/cpuinf", 4), "/proc/cpuinfo\n")
      << "bash must complete the program's arguments as files";
}

using SshDoctor = SshTest;

// docs/acceptance.md, Launcher: `bprun doctor` finds problems of all hosts of a job.
TEST_F(SshDoctor, AsksAllHosts) {
  write_file(folder() + "/data", "12345");
  BprunProcess bprun = run({"doctor", "-H", "h1,h2", folder() + "/data"});
  EXPECT_EQ(bprun.finish(), 0) << bprun.out();
  EXPECT_THAT(bprun.out(), ContainsRegex("\nh2\n  ok    reach    by ssh, "));
  EXPECT_THAT(bprun.out(), HasSubstr("/data: 5 bytes\n"));
  EXPECT_EQ(bprun.marked_at_last(), 0);
}

}  // namespace
}  // namespace bp::test
