// Short vectors in shared memory: a rank may leave a collective before the others have read what it
// gave, and its caller may write that memory at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "bp/collective.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using Numbers = std::span<std::int32_t>;

// Returns the number that rank `from` gives to rank `to` in round `round`.
std::int32_t given(int round, int from, int to) { return round * 1000 + from * 31 + to; }

// Memory of either kind, for `count` numbers.
class Memory {
 public:
  Memory(Communicator& comm, bool allocated, std::size_t count) : numbers_(count) {
    if (!allocated) return;
    buffer_ = comm.allocate(count * sizeof(std::int32_t));
    all_ = {reinterpret_cast<std::int32_t*>(buffer_.data()), count};
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] Numbers first(std::size_t count) const { return all_.first(count); }

 private:
  std::vector<std::int32_t> numbers_;
  Buffer buffer_;
  Numbers all_ = numbers_;
};

class ShortVectors : public testing::TestWithParam<int> {
 protected:
  // One rank in three is late, so that the others run ahead.
  void stagger() {
    if (random_() % 3 == 0) std::this_thread::yield();
  }
  static void spoil(Numbers numbers) { std::ranges::fill(numbers, -1); }

  static thread_local std::minstd_rand random_;
};
thread_local std::minstd_rand ShortVectors::random_;

// docs/acceptance.md, Values: A short vector in shared memory keeps its values although its rank
// continues before the others have read it.
TEST_P(ShortVectors, KeepTheirValuesThoughTheirCallersWriteAgain) {
  const int ranks = GetParam();
  run_ranks(
      ranks,
      [&](Communicator& comm) {
        constexpr std::size_t kMost = 300;
        const auto blocks = static_cast<std::size_t>(ranks);
        random_.seed(static_cast<unsigned>(comm.rank() + 1));
        const Memory inputs[] = {{comm, false, kMost * blocks}, {comm, true, kMost * blocks}};
        const Memory outputs[] = {{comm, false, kMost * blocks}, {comm, true, kMost * blocks}};
        int round = 0;
        for (int turn = 0; turn < 40; ++turn) {
          for (const std::size_t count : {1, 2, 3, 5, 10, 11, 32, 64, 129, 300}) {
            ++round;
            const Numbers all_in = inputs[(round + comm.rank()) % 2].first(count * blocks);
            const Numbers all_out = outputs[round / 2 % 2].first(count * blocks);
            const Numbers one_in = all_in.first(count);
            const Numbers one_out = all_out.first(count);
            const int root = round % ranks;

            std::ranges::fill(one_in, comm.rank() == root ? given(round, root, 0) : -1);
            stagger();
            broadcast(comm, view(one_in), {.root = root});
            ASSERT_EQ(std::ranges::count(one_in, given(round, root, 0)), std::ssize(one_in));
            spoil(one_in);

            std::ranges::fill(one_in, given(round, comm.rank(), 1));
            all_gather(comm, const_view(one_in), view(all_out));
            spoil(one_in);
            stagger();
            for (int r = 0; r < ranks; ++r) {
              const Numbers theirs = all_out.subspan(static_cast<std::size_t>(r) * count, count);
              ASSERT_EQ(std::ranges::count(theirs, given(round, r, 1)), std::ssize(theirs));
            }

            for (int r = 0; r < ranks; ++r) {
              std::ranges::fill(all_in.subspan(static_cast<std::size_t>(r) * count, count),
                                given(round, comm.rank(), r));
            }
            all_to_all(comm, const_view(all_in), view(all_out));
            stagger();
            for (int r = 0; r < ranks; ++r) {
              const Numbers theirs = all_out.subspan(static_cast<std::size_t>(r) * count, count);
              ASSERT_EQ(std::ranges::count(theirs, given(round, r, comm.rank())),
                        std::ssize(theirs));
            }

            std::ranges::fill(one_out, given(round, comm.rank(), 2));
            reduce(comm, view(one_out), {.root = root});
            std::int32_t sum_at_root = 0;
            for (int r = 0; r < ranks; ++r) sum_at_root += given(round, r, 2);
            if (comm.rank() == root) {
              ASSERT_EQ(std::ranges::count(one_out, sum_at_root), std::ssize(one_out));
            }
            spoil(one_out);

            reduce_scatter(comm, const_view(all_in), view(one_out));
            spoil(all_in);
            std::int32_t sum = 0;
            for (int r = 0; r < ranks; ++r) sum += given(round, r, comm.rank());
            ASSERT_EQ(std::ranges::count(one_out, sum), std::ssize(one_out));
            spoil(all_out);
          }
        }
      },
      {.wire = Wire::shm});
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShortVectors, testing::Values(2, 3, 4));

}  // namespace
}  // namespace bp::test
