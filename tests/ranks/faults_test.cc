// Ranks as processes with rarer failures: connections that break within a message, a store that
// ends or stops answering, no descriptors left. In each case every survivor must report in time
// which rank failed, in which operation, how far that had come and why. No signal may end a
// process, except the ones that a test sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include "base/deadline.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "bp/store.h"
#include "comm/store/socket.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// Far below the deadlines (30 s and more) that would otherwise end a wait. On an idle machine it
// takes one or two seconds.
constexpr auto kSoon = 15s;

void expect_error_text(const ProcessResult& result, const testing::Matcher<std::string>& text) {
  EXPECT_EQ(result.exit_code, 1) << "signal " << result.signal;
  EXPECT_THAT(result.error(), text) << result.output;
  EXPECT_LT(result.ended_after, kSoon);
}

// Returns the TCP sockets of this process that are connected to other ranks: all but the store's.
std::vector<int> sockets_to_ranks(int store_port) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) != store_port) {
      found.push_back(fd);
    }
  }
  return found;
}

[[noreturn]] void die() {
  std::raise(SIGKILL);
  std::abort();
}

// Rank 1 sends half of a message's header to each other rank and dies.
RANK_BODY(half_a_head) {
  Communicator world = Communicator::create();
  barrier(world);
  if (world.rank() == 1) {
    for (const int fd : sockets_to_ranks(Environment::current().store->port)) {
      const char half[10] = {};
      EXPECT_EQ(::write(fd, half, sizeof(half)), 10);
    }
    die();
  }
  std::vector<float> data(1000);
  for (;;) all_reduce(world, view(data), {.name = "loss"});
}

TEST(Faults, ConnectionBreaksWithinTheHeaderOfAMessage) {
  const auto results =
      try_processes("half_a_head", {.ranks = 3, .environment = {"BP_BACKEND=gloo"}});
  EXPECT_EQ(results[1].signal, SIGKILL);
  for (const std::size_t rank : {0, 2}) {
    expect_error_text(
        results[rank],
        AllOf(StartsWith("peer_lost: rank " + std::to_string(rank)), HasSubstr("rank 1"),
              ContainsRegex("all_reduce sum of 1000 f32 'loss'|in barrier")));
  }
}

// Rank 1 dies once it has sent part of a message of 64 MiB.
RANK_BODY(part_of_a_message) {
  Communicator world = Communicator::create();
  barrier(world);
  if (world.rank() == 1) {
    const int fd = sockets_to_ranks(Environment::current().store->port).front();
    std::thread([fd] {
      for (;;) {
        tcp_info info{};
        socklen_t size = sizeof(info);
        ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
        if (info.tcpi_bytes_acked > (std::uint64_t{8} << 20)) die();
        std::this_thread::yield();
      }
    }).detach();
  }
  std::vector<float> data(std::size_t{16} << 20);
  all_reduce(world, view(data), {.name = "gradients"});
  return 0;
}

// docs/acceptance.md, Failures: A connection that breaks within a message names the peer.
TEST(Faults, ConnectionBreaksWithinAMessage) {
  const auto results =
      try_processes("part_of_a_message", {.ranks = 2, .environment = {"BP_BACKEND=gloo"}});
  EXPECT_EQ(results[1].signal, SIGKILL);
  expect_error_text(results[0],
                    AllOf(ContainsRegex("^peer_lost: rank 0 (lost rank 1|stopped) after [1-9]"),
                          HasSubstr("rank 1"),
                          ContainsRegex(" of [0-9]+ bytes of all_reduce sum of 16777216 f32 "
                                        "'gradients': ")));
}

// Rank 1 publishes its address and dies before the others connect.
RANK_BODY(dies_connecting) {
  const Environment environment = Environment::current();
  if (environment.topology.rank == 1) {
    std::thread([&] {
      const auto observer = connect_store(
          {.address = *environment.store, .job = environment.job, .key = environment.key});
      (void)observer->get("comm/world/gloo/1", 30s);
      die();
    }).detach();
  }
  Communicator world = Communicator::create();
  std::vector<float> data(1000);
  for (;;) all_reduce(world, view(data), {.name = "loss"});
}

// docs/acceptance.md, Failures: A rank that dies while the others connect is named.
TEST(Faults, RankDiesWhileTheOthersConnect) {
  const auto results = try_processes("dies_connecting", {.ranks = 3});
  EXPECT_EQ(results[1].signal, SIGKILL);
  for (const std::size_t rank : {0, 2}) {
    expect_error_text(results[rank], AllOf(ContainsRegex("^(peer_lost|io|timeout): rank"),
                                           HasSubstr("rank 1 lost: the store's connection")));
  }
}

RANK_BODY(reduce_for_ever) {
  Communicator world = Communicator::create();
  std::vector<float> data(1000);
  for (int step = 0;; ++step) {
    all_reduce(world, view(data), {.name = "loss"});
    if (step == 3) std::cout << "ready" << std::endl;
  }
}

// docs/acceptance.md, Failures: A store that ends, or falls silent, during a collective is named.
TEST(Faults, StoreEnds) {
  const auto results = try_processes(
      "reduce_for_ever", {.ranks = 3, .victim = 0, .store = ProcessesOptions::StoreTrouble::ends});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    expect_error_text(results[rank],
                      AllOf(HasSubstr("peer_lost: rank " + std::to_string(rank) + " "),
                            HasSubstr("all_reduce sum of 1000 f32 'loss': "),
                            HasSubstr(": the job's store 127.0.0.1:"), HasSubstr(" is lost: ")));
  }
}

// Returns pidfds of the other ranks' processes. One becomes readable when its process ends.
std::vector<Fd> processes_of_others(const Communicator& world) {
  const auto key = [](int rank) { return concat("pid/", rank); };
  world.store()->set(key(world.rank()), concat(::getpid()));
  std::vector<Fd> processes;
  for (int rank = 0; rank < world.size(); ++rank) {
    if (rank == world.rank()) continue;
    const int pid = std::stoi(world.store()->get(key(rank), 30s));
    processes.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    EXPECT_TRUE(processes.back()) << error_text(errno);
  }
  return processes;
}

// Rank 1 takes no part in the all_reduce. Its request is the last that the store handles.
RANK_BODY(silent_store) {
  CommunicatorOptions options;
  options.timeout = 2s;
  Communicator world = Communicator::create(options);
  const std::vector<Fd> others = processes_of_others(world);
  barrier(world);
  if (world.rank() == 1) {
    try {
      world.store()->request_stop();
    } catch (const Error& silent) {
      EXPECT_THAT(silent.what(), HasSubstr("the server has not answered for 2 s"));
    }
    const Deadline deadline(kSoon);
    for (const Fd& other : others) {
      EXPECT_TRUE(is_readable(other.get(), deadline)) << "a rank has not ended";
    }
    return 0;
  }
  std::vector<float> data(1000);
  all_reduce(world, view(data), {.name = "loss"});
  return 0;
}

TEST(Faults, StoreAndOneRankStopAnswering) {
  const auto results = try_processes(
      "silent_store", {.ranks = 3, .store = ProcessesOptions::StoreTrouble::falls_silent});
  EXPECT_EQ(results[1].exit_code, 0) << results[1].output;
  for (const std::size_t rank : {0, 2}) {
    expect_error_text(
        results[rank],
        AllOf(HasSubstr("timeout: rank " + std::to_string(rank) + " waited 2000 ms for "),
              HasSubstr("of all_reduce sum of 1000 f32 'loss': nothing came, nor does the "
                        "job's store answer")));
  }
}

// Rank 1 is killed, and the shared memory is the only way to detect that.
RANK_BODY(dead_neighbour) {
  CommunicatorOptions options;
  options.timeout = 1s;  // the time within which the store must answer
  Communicator world = Communicator::create(options);
  EXPECT_EQ(world.backend(), "shm");
  barrier(world);
  if (world.rank() == 1) {
    try {
      world.store()->request_stop();  // the last request that the store receives
    } catch (const Error& silent) {
      EXPECT_THAT(silent.what(), HasSubstr("the server has not answered for 1 s"));
    }
    ::raise(SIGKILL);
  }
  std::vector<float> data(1000);
  all_reduce(world, view(data), {.name = "loss", .timeout = 20s});
  return 0;
}

// docs/acceptance.md, Failures: A dead rank of the same host is found without the store.
TEST(Faults, DeadLocalRankIsDetectedWithoutTheStore) {
  const auto results = try_processes(
      "dead_neighbour", {.ranks = 3, .store = ProcessesOptions::StoreTrouble::falls_silent});
  EXPECT_EQ(results[1].signal, SIGKILL);
  for (const std::size_t rank : {0, 2}) {
    expect_error_text(results[rank],
                      AllOf(HasSubstr("peer_lost: rank " + std::to_string(rank) + " lost rank 1 "),
                            HasSubstr("its process has ended")));
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// With few descriptors a rank fails at whichever step needs one too many. (UBSan's vptr check needs
// descriptors of its own, so sanitizer builds leave this test out.)
RANK_BODY(few_descriptors) {
  const rlimit few{.rlim_cur = std::stoul(std::getenv("BP_TEST_FILES")), .rlim_max = 4096};
  ::setrlimit(RLIMIT_NOFILE, &few);
  Communicator world = Communicator::create();
  std::vector<float> data(1000);
  all_reduce(world, view(data));
  world.finish();
  return 0;
}

// docs/acceptance.md, Failures: Too few file descriptors are reported.
TEST(Faults, FewDescriptors) {
  int went_well = 0;
  for (const int files :
       {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 32}) {
    const auto results = try_processes(
        "few_descriptors", {.ranks = 3, .environment = {"BP_TEST_FILES=" + std::to_string(files)}});
    std::string all;
    for (const ProcessResult& result : results) {
      EXPECT_EQ(result.signal, 0) << files << " files: " << result.output;
      EXPECT_LT(result.ended_after, kSoon) << files << " files: " << result.output;
      if (result.exit_code == 0) continue;
      EXPECT_THAT(result.error(), ContainsRegex("^(io|unavailable|timeout|peer_lost|aborted): "));
      all += result.output;
    }
    EXPECT_TRUE(all.empty() || all.find("Too many open files") != std::string::npos)
        << files << " files: " << all;
    if (all.empty()) ++went_well;
  }
  EXPECT_GT(went_well, 0) << "32 descriptors must be enough";
}
#endif

}  // namespace
}  // namespace bp::test
