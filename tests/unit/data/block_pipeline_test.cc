// The order of blocks, the memory that they take, and the errors of each stage.
// docs/acceptance.md, Data: The memory of a preparation does not grow with the file. The first bad
// row is named.
#include "trainer/prepare/block_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"

namespace bp::trainer {
namespace {

using testing::ThrowsMessage;

struct NumberBlock {
  int number = 0;
  int square = 0;
  std::size_t size = 1;
  [[nodiscard]] std::size_t bytes() const { return size; }
};
using NumberPipeline = BlockPipeline<NumberBlock>;

std::vector<int> squares_up_to(int end) {
  std::vector<int> squares;
  for (int i = 1; i <= end; ++i) squares.push_back(i * i);
  return squares;
}

// Squares the numbers from 1 to `end`. Stage `fails_in` throws at `fails_at`.
struct Squares {
  int end = 0;
  std::string fails_in = {};
  int fails_at = 0;
  int read = 0;
  std::vector<int> taken = {};

  void run(std::size_t workers) {
    const auto fail = [&](const char* stage, int number) {
      if (fails_in == stage && number == fails_at) throw std::runtime_error(concat(stage, number));
    };
    NumberPipeline({.read =
                        [&](NumberBlock& block) {
                          block.number = ++read;
                          fail("read", read);
                          return read <= end;
                        },
                    .work =
                        [&](NumberBlock& block, std::size_t worker) {
                          EXPECT_LT(worker, std::max<std::size_t>(workers, 1));
                          fail("work", block.number);
                          block.square = block.number * block.number;
                        },
                    .take =
                        [&](NumberBlock& block) {
                          fail("take", block.number);
                          taken.push_back(block.square);
                        }},
                   {.workers = workers})
        .run();
  }
};

TEST(BlockPipelineTest, TakesEachBlockOnceAndInOrderForAnyNumberOfThreads) {
  for (const std::size_t workers : {0, 1, 2, 3, 8}) {
    for (const int end : {0, 1, 2, 500}) {
      Squares squares{.end = end};
      squares.run(workers);
      EXPECT_EQ(squares.taken, squares_up_to(end)) << workers << " threads";
    }
  }
}

TEST(BlockPipelineTest, AnErrorEndsItAfterTheBlocksBeforeIt) {
  for (const std::size_t workers : {0, 1, 2, 3, 8}) {
    for (const std::string stage : {"read", "work", "take"}) {
      Squares squares{.end = 1'000'000, .fails_in = stage, .fails_at = 40};
      EXPECT_THAT([&] { squares.run(workers); },
                  ThrowsMessage<std::runtime_error>(concat(stage, 40)));
      EXPECT_EQ(squares.taken, squares_up_to(39)) << stage << ", " << workers << " threads";
      EXPECT_LE(squares.read, 40 + static_cast<int>(workers) + 2) << "nothing more must be read";
    }
  }
}

// The first of several errors counts, whichever happens first: block 7 fails before block 5.
TEST(BlockPipelineTest, TheFirstErrorInTheOrderOfBlocksIsReported) {
  std::mutex mutex;
  std::condition_variable changed;
  bool later_failed = false;
  int read = 0;
  NumberPipeline pipeline({.read =
                               [&](NumberBlock& block) {
                                 block.number = ++read;
                                 return true;
                               },
                           .work =
                               [&](NumberBlock& block, std::size_t) {
                                 std::unique_lock lock(mutex);
                                 if (block.number == 7) {
                                   later_failed = true;
                                   changed.notify_all();
                                   throw std::runtime_error("block 7");
                                 }
                                 if (block.number == 5) {
                                   changed.wait(lock, [&] { return later_failed; });
                                   throw std::runtime_error("block 5");
                                 }
                               },
                           .take = [](NumberBlock& block) { EXPECT_LT(block.number, 5); }},
                          {.workers = 4});
  EXPECT_THAT([&] { pipeline.run(); }, ThrowsMessage<std::runtime_error>("block 5"));
}

// The first block is taken only when the others have been read as far as they can be.
int most_in_flight(const PipelineLimits& limits, std::size_t block_size, int expected) {
  constexpr int kBlocks = 200;
  std::mutex mutex;
  std::condition_variable changed;
  int read = 0;
  int taken = 0;
  int most = 0;
  NumberPipeline({.read =
                      [&](NumberBlock& block) {
                        const std::lock_guard lock(mutex);
                        if (read == kBlocks) return false;
                        block.size = block_size;
                        most = std::max(most, ++read - taken);
                        changed.notify_all();
                        return true;
                      },
                  .work = [](NumberBlock&, std::size_t) {},
                  .take =
                      [&](NumberBlock&) {
                        std::unique_lock lock(mutex);
                        changed.wait(lock,
                                     [&] { return read - taken >= expected || read == kBlocks; });
                        ++taken;
                      }},
                 limits)
      .run();
  EXPECT_EQ(taken, kBlocks);
  return most;
}

TEST(BlockPipelineTest, HoldsAtMostItsRingOfBlocks) {
  for (const std::size_t workers : {1, 2, 3, 8}) {
    const PipelineLimits limits{.workers = workers};
    const int ring = static_cast<int>(workers) + 2;
    EXPECT_EQ(limits.blocks(), workers + 2);
    EXPECT_EQ(most_in_flight(limits, 1, ring), ring);
  }
}

TEST(BlockPipelineTest, HoldsOneBlockMoreThanItsBytesAllow) {
  EXPECT_EQ(most_in_flight({.workers = 8, .bytes = 1000}, 400, 3), 3);
  EXPECT_EQ(most_in_flight({.workers = 8, .bytes = 1000}, 1000, 1), 1);
  EXPECT_EQ(most_in_flight({.workers = 8, .bytes = 1000}, 5000, 1), 1);
}

}  // namespace
}  // namespace bp::trainer
