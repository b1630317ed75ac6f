#include "comm/shared/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bp/error.h"
#include "comm/shared/shared_host.h"

namespace bp {
namespace {

constexpr std::size_t kPage = 4096;

Arena make_arena(std::size_t bytes) {
  return {std::make_shared<SharedMemory>(SharedMemory::create("bp test", bytes)), 0, bytes};
}

TEST(SharedMemory, IsOneMemoryInBothMappings) {
  const SharedMemory created = SharedMemory::create("bp test", 3 * kPage);
  const SharedMemory opened = SharedMemory::open(Fd(::dup(created.file().get())));
  ASSERT_EQ(opened.bytes().size(), 3 * kPage);
  EXPECT_EQ(std::ranges::count(created.bytes(), std::byte{0}), 3 * kPage);
  created.bytes()[5000] = std::byte{7};
  EXPECT_EQ(opened.bytes()[5000], std::byte{7});
}

TEST(SharedMemory, CannotBeTruncated) {
  const SharedMemory memory = SharedMemory::create("bp test", kPage);
  EXPECT_NE(::ftruncate(memory.file().get(), 0), 0);
  EXPECT_NE(::ftruncate(memory.file().get(), 2 * kPage), 0);
}

TEST(SharedMemory, ATooLowLimitOfFilesIsNamed) {
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit low{kPage, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  std::string text;
  try {
    (void)SharedMemory::create("bp test", 2 * kPage);
  } catch (const Error& error) {
    text = error.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(text,
            "cannot make shared memory: File too large; the limit of a file's size is too low for "
            "it (try ulimit -f unlimited)");
}

TEST(SharedMemory, TruncatableMemoryIsRefused) {
  Fd loose(::memfd_create("bp test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), kPage), 0);
  try {
    (void)SharedMemory::open(std::move(loose));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_STREQ(error.what(), "cannot trust shared memory: Operation not permitted");
  }
}

class ArenaTest : public testing::Test {
 protected:
  Arena arena_ = make_arena(10 * kPage);
};

TEST_F(ArenaTest, AllocatesZeroedPagesAndFreesThem) {
  const std::size_t a = arena_.allocate(1);
  const std::size_t b = arena_.allocate(kPage + 1);
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, kPage);
  EXPECT_EQ(arena_.allocate(1), 3 * kPage);
  std::memset(arena_.at(b), 1, 2 * kPage);
  arena_.release(b);
  EXPECT_EQ(arena_.allocate(2 * kPage), b);
  EXPECT_EQ(std::count(arena_.at(b), arena_.at(b) + 2 * kPage, std::byte{0}), 2 * kPage);
}

TEST_F(ArenaTest, JoinsGaps) {
  for (const auto& order : {std::array{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}}) {
    std::array<std::size_t, 3> pieces{};
    for (std::size_t& piece : pieces) piece = arena_.allocate(3 * kPage);
    EXPECT_THROW((void)arena_.allocate(2 * kPage), Error);
    for (const int i : order) arena_.release(pieces[static_cast<std::size_t>(i)]);
    const std::size_t all = arena_.allocate(10 * kPage);
    EXPECT_EQ(all, 0);
    arena_.release(all);
  }
}

TEST(Arena, LongPiecesBeginAtHugePages) {
  constexpr std::size_t kHuge = SharedMemory::kHugePage;
  Arena arena = make_arena(4 * kHuge);
  EXPECT_EQ(arena.allocate(kPage), 0);
  const std::size_t first = arena.allocate(kHuge);
  EXPECT_EQ(first, kHuge);
  EXPECT_EQ(arena.allocate(kHuge - kPage), kPage);  // what lies before is not lost
  const std::size_t second = arena.allocate(2 * kHuge);
  EXPECT_EQ(second, 2 * kHuge);
  EXPECT_THROW((void)arena.allocate(1), Error);
  arena.release(first);
  arena.release(second);
  EXPECT_EQ(arena.allocate(3 * kHuge), kHuge);
}

TEST(SharedMemory, EachMappingBeginsAtAHugePage) {
  for (const std::size_t bytes : {std::size_t{1}, kPage, SharedMemory::kHugePage + 1}) {
    const SharedMemory created = SharedMemory::create("bp test", bytes);
    const SharedMemory opened = SharedMemory::open(Fd(::dup(created.file().get())));
    for (const SharedMemory* memory : {&created, &opened}) {
      const auto address = reinterpret_cast<std::uintptr_t>(memory->bytes().data());
      EXPECT_EQ(address % SharedMemory::kHugePage, 0) << bytes;
      memory->bytes().back() = std::byte{1};
    }
  }
}

TEST_F(ArenaTest, ReportsThatItIsFull) {
  (void)arena_.allocate(10 * kPage);
  try {
    (void)arena_.allocate(5000);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no 5000 bytes of shared memory are left");
  }
}

TEST_F(ArenaTest, KnowsWhichAddressesLieInIt) {
  const std::byte other{};
  EXPECT_EQ(arena_.offset_of(arena_.at(100), 8), 100);
  EXPECT_EQ(arena_.offset_of(arena_.at(10 * kPage - 8), 8), 10 * kPage - 8);
  EXPECT_EQ(arena_.offset_of(arena_.at(10 * kPage - 8), 9), std::nullopt);
  EXPECT_EQ(arena_.offset_of(&other, 1), std::nullopt);
  EXPECT_EQ(arena_.offset_of(nullptr, 0), std::nullopt);
}

#if !defined(__SANITIZE_THREAD__)  // which leaves a process less than 2 TiB
// A process has 128 TiB of addresses, and each rank maps the arenas of all ranks.
// docs/acceptance.md, Operations in flight and groups: The shared memory of all ranks of a large
// machine fits into the address space of a process.
TEST(Arena, ThoseOfALargeMachineFitIntoAProcess) {
  constexpr std::size_t kTera = std::size_t{1} << 40;
  for (const int ranks : {4, 8, 192}) {
    const std::size_t bytes = arena_bytes(ranks, 30 * kTera);
    std::vector<SharedMemory> mapped;
    mapped.push_back(SharedMemory::create("bp test", bytes));
    const int file = mapped.front().file().get();
    while (static_cast<int>(mapped.size()) < 2 * ranks) {  // also those of a world that recovers
      mapped.push_back(SharedMemory::open(Fd(::dup(file))));
    }
    EXPECT_EQ(mapped.back().bytes().size(), bytes);
  }
  EXPECT_EQ(arena_bytes(8, 64 * kPage), 64 * kPage);
}
#endif

// docs/acceptance.md, Operations in flight and groups: Thousands of groups one after another take
// no more memory than a few.
TEST(ChannelPool, AChannelIsTakenAgainOnceAllRanksHaveLeftIt) {
  constexpr std::size_t kBytes = 4 * kPage;
  Arena arena = make_arena(32 * kPage);
  ChannelPool pool(arena);
  const std::size_t first = pool.take(kBytes);
  std::byte* const channel = arena.at(first);
  channel[0] = std::byte{1};
  ChannelPool::leave(channel);
  pool.give_back(first, kBytes, 2);
  const std::size_t second = pool.take(kBytes);
  EXPECT_NE(second, first);  // the other rank has not left
  ChannelPool::leave(channel);
  EXPECT_NE(pool.take(2 * kBytes), first);  // it is too short
  EXPECT_EQ(pool.take(kBytes), first);
  EXPECT_EQ(std::count(channel, channel + ChannelPool::kHead, std::byte{0}),
            static_cast<std::ptrdiff_t>(ChannelPool::kHead));
}

}  // namespace
}  // namespace bp
