// Device memory that goes through host memory in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "tests/ranks/collectives.h"
#include "tests/ranks/device_copy.h"
#include "tests/ranks/device_numbers.h"
#include "tests/ranks/operations.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/refusal.h"
#include "tests/support/run_processes.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

RanksOptions in_pieces(std::size_t bytes, Wire wire) {
  RanksOptions options{.wire = wire};
  options.communicator.staging_piece = bytes;
  return options;
}

class InPieces : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, InPieces, testing::Values(Wire::inproc, Wire::shm));

// docs/acceptance.md, Devices: Device memory goes through host memory in pieces.
TEST_P(InPieces, EveryCollectiveIsExact) {
  run_ranks(
      3,
      [](Communicator& comm) {
        EXPECT_EQ(check_main_collectives(comm, 64), "");
        EXPECT_EQ(check_main_operations(comm, 64), "");
      },
      in_pieces(48, GetParam()));
}

TEST_P(InPieces, RanksWithHostMemoryHaveTheSame) {
  run_ranks(
      3,
      [](Communicator& comm) {
        std::vector<float> host = numbers(1001, 0);
        const OnDevice there(const_view(host));
        const bool is_on_host = comm.rank() == 1;
        const View data = is_on_host ? view(host) : there.view();
        all_reduce(comm, data);
        reduce(comm, data, {.op = ReduceOp::max, .root = 2});
        broadcast(comm, data, {.root = 1});
        const std::vector<float> result = is_on_host ? host : values_of(there, host.size());
        for (std::size_t i = 0; i < result.size(); ++i)
          EXPECT_EQ(result[i], 3 * static_cast<float>(i));
      },
      in_pieces(400, GetParam()));
}

bool overlap_in_time(const FakeCudaCopy& a, const FakeCudaCopy& b) {
  return a.begin < b.end && b.begin < a.end;
}

// While a piece goes back, the next but one comes.
// docs/acceptance.md, Devices: Copies in both directions overlap, in a bounded amount of pinned
// memory.
TEST(Staging, CopiesInBothDirectionsOverlapInLittlePinnedMemory) {
  constexpr std::size_t kPiece = 4096;
  constexpr std::size_t kPieces = 16;
  const std::size_t pinned = pinned_bytes();
  ::setenv("FAKE_CUDA_COPY_MS", "10", 1);
  run_ranks(
      2,
      [&](Communicator& comm) {
        const std::vector<float> host = numbers(kPieces * kPiece / sizeof(float), 1);
        const OnDevice there(const_view(host));
        all_reduce(comm, there.view());
        EXPECT_LE(pinned_bytes(), pinned + 2 * 3 * kPiece);
        const std::vector<float> sums = values_of(there, host.size());
        for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], 2 * host[i]);
      },
      in_pieces(kPiece, Wire::shm));
  ::unsetenv("FAKE_CUDA_COPY_MS");
  if (runs_on_gpu()) return;
  EXPECT_EQ(pinned_bytes(), pinned);
  int overlaps = 0;
  const std::vector<FakeCudaCopy> copies = last_copies(4 * kPieces + 4);
  for (const FakeCudaCopy& down : copies) {
    for (const FakeCudaCopy& up : copies) {
      const bool are_pieces = down.bytes == kPiece && up.bytes == kPiece;
      if (are_pieces && down.to_host && !up.to_host && overlap_in_time(down, up)) ++overlaps;
    }
  }
  EXPECT_GT(overlaps, 0);
}

RANK_BODY(other_pieces) {
  ::setenv("BP_STAGING_PIECE", std::string(std::getenv("RANK")) == "0" ? "1K" : "2048", 1);
  Communicator world = Communicator::create();
  const OnDevice there(const_view(numbers(1000, 0)));
  EXPECT_EQ(error_of([&] { all_reduce(world, there.view()); }),
            "mismatch: ranks disagree on collective 0 of world: rank 0 asked for all_reduce sum of "
            "1000 f32 by auto in pieces of 1024 bytes; rank 1 for all_reduce sum of 1000 f32 by "
            "auto in pieces of 2048 bytes (every rank must ask for the same collectives in the "
            "same order)");
  return 0;
}

// docs/acceptance.md, Devices: Ranks that cut into other pieces get an error.
TEST(Staging, RanksWithOtherPiecesDoNotMeet) { run_processes("other_pieces", {.ranks = 2}); }

RANK_BODY(bad_piece) {
  EXPECT_EQ(error_of([] { static_cast<void>(Communicator::create()); }),
            "invalid_argument: BP_STAGING_PIECE is '4MB'; give a number of bytes, such as 4M");
  return 0;
}

TEST(Staging, ALengthOfAPieceIsANumber) {
  run_processes("bad_piece", {.ranks = 1, .environment = {"BP_STAGING_PIECE=4MB"}});
}

}  // namespace
}  // namespace bp::test
