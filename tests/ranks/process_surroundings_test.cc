// What surrounds a rank as a process: limits, modes of arithmetic, descriptors, variables, logs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "tests/support/run_processes.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// they reserve terabytes of address space
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
RANK_BODY(little_address_space) {
  const rlimit limit{.rlim_cur = std::size_t{2} << 30, .rlim_max = std::size_t{2} << 30};
  EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  Communicator world = Communicator::create();
  EXPECT_EQ(world.backend(), "shm");
  const Buffer buffer = world.allocate(std::size_t{1} << 20);
  all_reduce(world, View{buffer.data(), buffer.bytes(), DataType::u8});
  world.finish();
  return 0;
}

TEST(Processes, LittleAddressSpaceMakesSmallerArenas) {
  run_processes("little_address_space", {.ranks = 3});
}
#endif

RANK_BODY(warns_and_throws) {
  log(LogLevel::warn, "rank 0 refused 1 connection");
  throw Error(ErrorCode::io, "rank 0 failed");
}

TEST(Processes, ErrorIsSeparateFromTheLog) {
  const ProcessResult result = try_processes("warns_and_throws", {.ranks = 1})[0];
  EXPECT_THAT(result.output, HasSubstr("W rank 0 refused 1 connection\n"));
  EXPECT_EQ(result.error(), "io: rank 0 failed\n");
}

#if defined(__x86_64__)
RANK_BODY(flushes_denormals) {
  if (std::string_view(std::getenv("RANK")) == std::getenv("FLUSHING_RANK")) {
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  }
  Communicator world = Communicator::create();
  world.finish();
  return 0;
}

// Otherwise the bits of a sum of denormal numbers differ between ranks.
// docs/acceptance.md, Disagreement and misuse: A rank that computes with another arithmetic mode,
// such as denormal numbers as zero, is named.
TEST(Processes, ADifferentArithmeticOfOneRankIsNamed) {
  for (const int odd : {0, 2}) {
    const auto results = try_processes(
        "flushes_denormals", {.ranks = 3, .environment = {concat("FLUSHING_RANK=", odd)}});
    for (const ProcessResult& result : results) {
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_THAT(result.error(),
                  AllOf(StartsWith("mismatch: "),
                        HasSubstr("ranks differ in their arithmetic, so their results would "
                                  "differ: rank "),
                        HasSubstr(concat("rank ", odd, " makes denormal results zero")),
                        HasSubstr("keeps denormal numbers")));
    }
  }
}
#endif

// What an executed program would inherit, beside what this process inherited.
std::set<std::string> inheritable_descriptors() {
  std::set<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    std::error_code ignored;
    const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if ((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) result.insert(concat(fd, " ", target));
  }
  return result;
}

RANK_BODY(opens_descriptors) {
  const std::set<std::string> before = inheritable_descriptors();
  Communicator world = Communicator::create();
  std::vector<float> data(100'000, 1);
  all_reduce(world, view(data));
  for (const std::string& one : inheritable_descriptors()) EXPECT_TRUE(before.contains(one)) << one;
  world.finish();
  return 0;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // there Gloo is as packaged
// docs/acceptance.md, Disagreement and misuse: Programs that a rank executes inherit no descriptors
// of the job.
TEST(Processes, ExecutedProgramsInheritNothing) {
  run_processes("opens_descriptors", {.ranks = 2});
  run_processes("opens_descriptors", {.ranks = 2, .environment = {"BP_BACKEND=gloo"}});
}
#endif

RANK_BODY(refused) {
  const Communicator world = Communicator::create();
  return 0;
}

void expect_refused(const std::vector<std::string>& variables, const std::string& text) {
  for (const auto& result : try_processes("refused", {.ranks = 2, .environment = variables})) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.output, HasSubstr(text));
  }
}

// docs/acceptance.md, Disagreement and misuse: A variable with an unknown algorithm or backend, or
// with a file that cannot be read, is an error that names it.
TEST(Processes, UnknownNamesAreErrors) {
  expect_refused({"BP_ALGORITHM=torus"},
                 "invalid_argument: there is no algorithm 'torus'; possible here: auto, ring, ");
  expect_refused({"BP_ALGORITHM=hierarchical"},
                 "invalid_argument: the algorithm 'hierarchical' needs several hosts, one of them "
                 "with several ranks; this job has 1 host (2 ranks); possible here: auto, ring, ");
  expect_refused({"BP_ALGORITHM=ring", "BP_BACKEND=shm"},
                 "invalid_argument: the backend shm has no algorithm 'ring': it sends no messages; "
                 "possible here: auto");
  expect_refused(
      {"BP_ALGORITHM=ring", "BP_BACKEND=gloo-native"},
      "invalid_argument: the backend gloo-native has no algorithm 'ring': it uses Gloo's "
      "own; possible here: auto");
  expect_refused({"BP_SELECTION=/nowhere/table"}, "io: cannot read the selection /nowhere/table: ");
  expect_refused({"BP_SELECTION=/dev/zero"},
                 "io: cannot read the selection /dev/zero: it is a device, not a regular file "
                 "(every host needs the same file)");
  expect_refused({"BP_SELECTION=/"},
                 "io: cannot read the selection /: it is a folder, not a regular file (every host");
  expect_refused({"BP_LOG=loud"},
                 "invalid_argument: BP_LOG is 'loud'; use error, warn, info or debug");
  expect_refused({"BP_BACKEND=mpi"}, "invalid_argument: there is no backend 'mpi'; there are: ");
  expect_refused({"BP_INTERFACE=eth77"}, "invalid_argument: there is no network interface 'eth77'");
  expect_refused({"BP_PLUGIN_DIR=/nowhere"},
                 "unavailable: libbp_gloo.so was not found in: /nowhere");
  const Scratch folder;
  folder.write("libbp_gloo.so", "not a library");
  expect_refused({"BP_PLUGIN_DIR=" + folder.path()},
                 concat("unavailable: the Gloo plugin does not load: ", folder.path(),
                        "/libbp_gloo.so: file too short"));
  expect_refused({"BP_TRACE=/dev/null/trace"}, "io: cannot create the trace /dev/null/trace/rank-");
  // getenv() returns the first entry of a name.
  expect_refused({"BP_BACKEND=shm", "BP_LOCAL_SIZES=1,1"},
                 "the backend shm is for ranks of one host; this job has 2 hosts (auto "
                 "chooses what fits)");
}

}  // namespace
}  // namespace bp::test
