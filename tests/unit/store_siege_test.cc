// Thousands of unauthenticated connections at once: members are served as before, and the memory is
// bounded. BP_SIEGE gives their number (scripts/acceptance: 10,000); the default is 1,000. Fewer
// would show nothing, so the test is skipped if the limit of open files is too low.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <vector>

#include "tests/unit/store_raw_peer.h"

namespace bp {
namespace {

using namespace std::string_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryTells = false;  // the sanitizer's own memory is counted too
#else
constexpr bool kMemoryTells = true;
#endif

// The most memory that unauthenticated connections may take in all.
constexpr std::size_t kMostMemory = std::size_t{16} << 20;
constexpr std::size_t kOwnFiles = 400;  // 256 of the server, and those of the test itself

std::size_t resident_bytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t connections() {
  const char* const asked = std::getenv("BP_SIEGE");
  return asked == nullptr ? 1'000 : std::stoul(asked);
}

// Raises the limit of open files to the hard limit and returns it.
std::size_t raise_file_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur;
}

class StoreSiegeTest : public StoreTest {
 protected:
  // Returns the first bytes of an unauthenticated connection, for some also the last.
  std::string opening(std::size_t i) {
    switch (i % 5) {
      case 0:
        return "";
      case 1: {
        std::string bytes(2048, '\0');
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random_()); });
        return bytes;
      }
      case 2:
        return "\x80\0\0\0\0\0\0\0"s;  // 2^63
      case 3:
        return "\0\0\x04\0bpst"s;  // the longest possible handshake, whose rest never arrives
      default:
        return plain_frame(encode_handshake(
            {.op = StoreOp::hello, .number = 1, .strings = {"job-1", std::string(32, 'n')}}));
    }
  }

  // Members of the job can also break the protocol.
  void replay_and_reflect() {
    RawPeer replays(server_->address());
    replays.join(key_, -1);
    const std::string frame = replays.sealed({.op = StoreOp::add, .number = 1, .strings = {"x"}});
    replays.send(frame);
    const std::string answer = replays.receive_sealed(StoreOp::done);
    replays.send(frame);
    EXPECT_TRUE(replays.is_closed());
    RawPeer reflects(server_->address());
    reflects.join(key_, -1);
    reflects.send(answer);
    EXPECT_TRUE(reflects.is_closed());
  }

  std::mt19937 random_{20261121};
};

// docs/acceptance.md, Strangers: 10,000 strangers do not slow down the store's members, in bounded
// memory.
TEST_F(StoreSiegeTest, MembersAreServedInBoundedMemory) {
  // so few that they do not evict a client that joins meanwhile
  constexpr std::size_t kRound = 200;
  const std::size_t count = connections();
  if (const std::size_t limit = raise_file_limit(); limit < count + kOwnFiles) {
    GTEST_SKIP() << "ulimit -Hn is " << limit << ", " << count + kOwnFiles
                 << " descriptors are needed";
  }
  const auto member = client(0);
  std::vector<Fd> strangers;
  strangers.reserve(count);
  const std::size_t before = resident_bytes();
  std::size_t most = before;
  for (std::size_t i = 0; i < count; ++i) {
    std::string why;
    strangers.push_back(connect_tcp(server_->address(), Deadline(kSoon), why));
    ASSERT_TRUE(strangers.back()) << why << " after " << i;
    static_cast<void>(send_all(strangers.back().get(), opening(i), Deadline(kSoon), why));
    if (i % kRound == 0) {
      member->set("round", concat(i));
      EXPECT_EQ(client()->find("round"), concat(i));
      replay_and_reflect();
      most = std::max(most, resident_bytes());
    }
  }
  client(1)->goodbye();
  EXPECT_FALSE(member->job_failure().has_value());
  most = std::max(most, resident_bytes());
  std::cout << count << " connections, resident memory grew by " << (most - before) / 1024
            << " KiB\n";
  if (kMemoryTells) {
    EXPECT_LT(most - before, kMostMemory);
  }
}

}  // namespace
}  // namespace bp
