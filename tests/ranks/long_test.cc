// Vectors of 2^31 elements and more. Most of these tests take a minute or two and run only if
// BP_TEST_LONG is set (scripts/acceptance long_vectors).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "bp/collective.h"
#include "comm/backend/shared/shared.h"
#include "comm/reduce/reduce.h"
#include "tests/support/long_memory.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

constexpr std::size_t kCount = (std::size_t{1} << 31) + 5;

RanksOptions options(Wire wire) {
  RanksOptions options;
  options.stall_after = std::chrono::seconds(1);
  options.wire = wire;
  options.communicator.timeout = std::chrono::minutes(4);
  options.segments = {};  // the limits that users get, instead of the small ones of tests
  options.shared_chunk = SharedChannel::kChunk;
  return options;
}

std::span<std::int32_t> as_integers(const LongMemory& memory) {
  return {reinterpret_cast<std::int32_t*>(memory.bytes().data()), memory.bytes().size() / 4};
}

// `elements` converts the memory to the view that is sent.
template <class Elements>
void move_around(Communicator& comm, std::size_t bytes, const Elements& elements) {
  const LongMemory memory(bytes);
  const auto all = elements(memory);
  memory.fill(comm.rank() == 1 ? 7 : 0);
  broadcast(comm, view(all), {.root = 1});
  EXPECT_EQ(memory.first_wrong(7), bytes);

  memory.fill(comm.rank());
  if (comm.rank() == 0) send(comm, view(all), 1);
  if (comm.rank() == 1) receive(comm, view(all), 0);
  EXPECT_EQ(memory.first_wrong(0), bytes);
}

bool is_asked_for() { return std::getenv("BP_TEST_LONG") != nullptr; }

// docs/acceptance.md, Values: Vectors of 2^31 elements and more arrive whole.
TEST(LongVectors, AreBroadcastWhole) {
  run_ranks(
      2,
      [](Communicator& comm) {
        const LongMemory memory(kCount);
        memory.fill(comm.rank() == 1 ? 7 : 0);
        broadcast(comm, view(memory.bytes()), {.root = 1});
        EXPECT_EQ(memory.first_wrong(7), kCount);
      },
      options(Wire::inproc));
}

TEST(LongVectors, OfBytesMoveWhole) {
  if (!is_asked_for()) GTEST_SKIP() << "BP_TEST_LONG is not set";
  for (const Wire wire : {Wire::inproc, Wire::shm}) {
    run_ranks(
        2,
        [](Communicator& comm) {
          move_around(comm, kCount, [](const LongMemory& memory) { return memory.bytes(); });
        },
        options(wire));
  }
}

// Repeating a maximum changes nothing, so it does not matter that parts of the vector share memory.
// ThreadSanitizer would report the shared memory as a race.
#if !defined(__SANITIZE_THREAD__)
std::uint8_t larger(std::size_t at) {
  return std::max(LongMemory::value(at, 0), LongMemory::value(at, 90));
}

TEST(LongVectors, OfBytesAreReducedByAll) {
  if (!is_asked_for()) GTEST_SKIP() << "BP_TEST_LONG is not set";
  for (const Wire wire : {Wire::inproc, Wire::shm}) {
    run_ranks(
        2,
        [](Communicator& comm) {
          const LongMemory memory(kCount);
          memory.fill(comm.rank() * 90);
          all_reduce(comm, view(memory.bytes()), {.op = ReduceOp::max});
          EXPECT_EQ(memory.first_wrong(larger), kCount);
        },
        options(wire));
  }
}
#endif

TEST(LongVectors, OfIntegersMoveWholeOverGloo) {
  if (!is_asked_for()) GTEST_SKIP() << "BP_TEST_LONG is not set";
  run_ranks(
      2, [](Communicator& comm) { move_around(comm, 4 * kCount, as_integers); },
      options(Wire::gloo));
}

TEST(LongVectors, AreReducedToTheirEnd) {
  const LongMemory into(kCount);
  const LongMemory from(kCount);
  into.fill(1);
  from.fill(1);
  for (const std::size_t at : {std::size_t{0}, (std::size_t{1} << 31) + 1, kCount - 1}) {
    from.bytes()[at] = 255;
  }
  const auto raw = [](const LongMemory& memory) {
    return reinterpret_cast<std::byte*>(memory.bytes().data());
  };
  reduce(DataType::u8, ReduceOp::max, raw(into), raw(from), kCount);
  for (const std::size_t at : {std::size_t{0}, (std::size_t{1} << 31) + 1, kCount - 1}) {
    EXPECT_EQ(into.bytes()[at], 255) << at;
    into.bytes()[at] = LongMemory::value(at, 1);
  }
  EXPECT_EQ(into.first_wrong(1), kCount);
}

}  // namespace
}  // namespace bp::test
