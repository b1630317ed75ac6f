// Vectors that the caches of a host cannot hold, whose copies go past these.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/shared/shared.h"
#include "comm/shared/caches.h"
#include "tests/support/open_memory.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using Bytes = std::span<std::uint8_t>;

constexpr int kThree = 3;

// A block of each rank for each. Blocks have an odd length, so most begin within a cache line.
class Blocks {
 public:
  explicit Blocks(std::size_t length)
      : length_(length), pattern_(length + kStep * kThree * kThree) {
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      pattern_[i] = static_cast<std::uint8_t>(i * 2'654'435'761U >> 13U);
    }
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] std::span<const std::uint8_t> value(int from, int to) const {
    return std::span(pattern_).subspan(kStep * static_cast<std::size_t>(from * kThree + to),
                                       length_);
  }
  [[nodiscard]] Bytes in(Bytes all, int index) const {
    return all.subspan(static_cast<std::size_t>(index) * length_, length_);
  }

 private:
  static constexpr std::size_t kStep = 5;
  std::size_t length_;
  std::vector<std::uint8_t> pattern_;
};

void check_past_caches(Communicator& comm, const Blocks& blocks, Bytes input, Bytes output) {
  const int rank = comm.rank();
  constexpr int kRoot = 1;
  const auto put = [&](int index, int from, int to) {
    std::ranges::copy(blocks.value(from, to), blocks.in(input, index).begin());
  };
  const auto got = [&](int index, int from, int to) {
    return std::memcmp(blocks.in(output, index).data(), blocks.value(from, to).data(),
                       blocks.length()) == 0;
  };
  for (int to = 0; to < kThree; ++to) put(to, rank, to);
  all_to_all(comm, const_view(input), view(output));
  for (int from = 0; from < kThree; ++from) EXPECT_TRUE(got(from, from, rank)) << from;

  const Bytes own = blocks.in(input, 0);
  all_gather(comm, const_view(own), view(output));
  for (int from = 0; from < kThree; ++from) EXPECT_TRUE(got(from, from, 0)) << from;

  std::ranges::fill(output, std::uint8_t{0});
  gather(comm, const_view(own), view(output), {.root = kRoot});
  if (rank == kRoot) {
    for (int from = 0; from < kThree; ++from) EXPECT_TRUE(got(from, from, 0)) << from;
  }

  scatter(comm, const_view(input), view(blocks.in(output, 0)), {.root = kRoot});
  EXPECT_TRUE(got(0, kRoot, rank));

  if (rank == kRoot) std::ranges::copy(input, output.begin());
  broadcast(comm, view(output), {.root = kRoot});
  for (int to = 0; to < kThree; ++to) EXPECT_TRUE(got(to, kRoot, to)) << to;
}

// Whether the ranks may access each other's memory by system calls.
class PastCaches : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OpenMemory, PastCaches, testing::Bool());

TEST_P(PastCaches, AnyMemoryAndAllocatedHaveTheSame) {
  if (GetParam() && !kernel_opens_memory()) {
    GTEST_SKIP() << "the kernel lets no process access the memory of another";
  }
  const std::size_t caches = last_caches_bytes(kThree);
  constexpr std::size_t kMost = std::size_t{128} << 20;
  if (caches > kMost) GTEST_SKIP() << "the last caches have " << caches << " bytes";
  // All vectors of a gather or a scatter together have 2 * kThree blocks, and of the others more.
  const Blocks blocks(caches / 2 / kThree + 77);
  RanksOptions options{
      .wire = Wire::shm, .shared_chunk = SharedChannel::kChunk, .open_memory = GetParam()};
  run_ranks(
      kThree,
      [&](Communicator& comm) {
        const std::size_t bytes = blocks.length() * kThree;
        std::vector<std::uint8_t> memory(2 * bytes);
        check_past_caches(comm, blocks, Bytes(memory).first(bytes), Bytes(memory).subspan(bytes));
        const Buffer input = comm.allocate(bytes);
        const Buffer output = comm.allocate(bytes);
        const auto in = [&](const Buffer& buffer) {
          return Bytes(reinterpret_cast<std::uint8_t*>(buffer.data()), bytes);
        };
        check_past_caches(comm, blocks, in(input), in(output));
        // One rank's input is direct, and all others are open or staged.
        check_past_caches(comm, blocks, comm.rank() == 0 ? in(input) : Bytes(memory).first(bytes),
                          in(output));
      },
      options);
}

}  // namespace
}  // namespace bp::test
