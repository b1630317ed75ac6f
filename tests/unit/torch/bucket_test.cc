// Buckets without LibTorch: the order in which they start, and gradients that are written into one
// bucket while others are summed. Without LibTorch, ThreadSanitizer sees both sides of each
// hand-over.
// docs/acceptance.md, Optimizer: Buckets are right without LibTorch, where ThreadSanitizer sees
// both sides of each hand-over.

#include "comm/torch/bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "comm/device/device_memory.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using test::RanksOptions;
using test::run_ranks;
using test::Wire;
using testing::Each;

std::vector<std::size_t> started(BucketProgress& progress) {
  std::vector<std::size_t> all;
  while (const auto bucket = progress.next()) all.push_back(*bucket);
  return all;
}

using Buckets = std::vector<std::size_t>;

TEST(BucketProgressTest, BucketWaitsForItsGradientsAndForEarlierBuckets) {
  BucketProgress progress(3);
  for (int window = 0; window < 2; ++window) {
    for (const std::size_t bucket : {0, 0, 1, 2, 2}) progress.expect(bucket);
    EXPECT_EQ(started(progress), Buckets{});
    progress.arrived(1);
    progress.arrived(2);
    progress.arrived(0);
    EXPECT_EQ(started(progress), Buckets{});
    progress.arrived(0);
    EXPECT_EQ(started(progress), (Buckets{0, 1}));
    EXPECT_EQ(started(progress), Buckets{});
    progress.arrived(2);
    EXPECT_EQ(started(progress), Buckets{2});
    EXPECT_EQ(started(progress), Buckets{});
    progress.clear();
  }
}

TEST(BucketProgressTest, RestStartsOnceNoGradientIsExpected) {
  BucketProgress progress(3);
  progress.expect(1);
  EXPECT_EQ(started(progress), Buckets{0});
  progress.expect_no_more();
  EXPECT_EQ(started(progress), (Buckets{1, 2}));
  progress.clear();
  EXPECT_EQ(started(progress), (Buckets{0, 1, 2}));
  BucketProgress none;
  EXPECT_EQ(started(none), Buckets{});
}

// Gradients of different sizes, which arrive on each rank in an order of its own.
class SomeGradients {
 public:
  SomeGradients(Communicator& comm, DataType wire) : comm_(comm) {
    std::vector<GradientSize> sizes;
    for (std::size_t i = 0; i < kGradients; ++i) sizes.push_back({.count = 1 + i * 37 % 300});
    const BucketLimits limits{.first_bytes = 256, .bytes = 2048, .wire = wire};
    auto plans = plan_buckets(sizes, reverse_order(kGradients), limits);
    for (BucketPlan& plan : plans) {
      const std::size_t extra = &plan == &plans.back() ? 1 : 0;
      buckets_.emplace_back(comm, std::move(plan), extra, /*error_feedback=*/true);
    }
    progress_ = BucketProgress(buckets_.size());
  }

  [[nodiscard]] std::size_t bucket_count() const { return buckets_.size(); }

  void run(int window) {
    window_ = window;
    progress_.clear();
    std::vector<std::pair<std::size_t, const Slot*>> coming;  // (bucket, its slot)
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (const Slot& slot : buckets_[b].plan().slots) {
        coming.emplace_back(b, &slot);
        progress_.expect(b);
      }
    }
    std::mt19937 random(static_cast<unsigned>(window * 100 + comm_.rank()));
    std::ranges::shuffle(coming, random);
    start_complete();
    for (const auto& [bucket, slot] : coming) {
      if (is_missing(*slot)) {
        buckets_[bucket].clear(*slot);
      } else {
        std::fill_n(at(bucket, *slot), slot->count, gradient(window, slot->parameter));
      }
      progress_.arrived(bucket);
      start_complete();
    }
    for (Bucket& bucket : buckets_) bucket.wait();
    for (Bucket& bucket : buckets_) bucket.finish(/*count_errors=*/true);
  }

  void check(int window) {
    const auto ranks = static_cast<float>(comm_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (const Slot& slot : buckets_[b].plan().slots) {
        const float one = gradient(window, slot.parameter);
        const float wanted = one * (slot.parameter == kMissing ? ranks - 1 : ranks);
        const float* const sums = at(b, slot);
        EXPECT_TRUE(std::all_of(sums, sums + slot.count, [&](float x) { return x == wanted; }))
            << "gradient " << slot.parameter << " of window " << window;
      }
    }
    double total = 0;
    host_bucket_arithmetic().read({&total, 1}, buckets_.back().extra(), {});
    EXPECT_EQ(total, ranks * static_cast<float>(window));
  }

 private:
  static constexpr std::size_t kGradients = 30;
  static constexpr std::size_t kMissing = 5;  // rank 1 has no gradient for it

  // Returns integers so small that every type sums them exactly.
  static float gradient(int window, std::size_t i) {
    return static_cast<float>(window + static_cast<int>(i % 8));
  }
  [[nodiscard]] bool is_missing(const Slot& slot) const {
    return slot.parameter == kMissing && comm_.rank() == 1;
  }
  float* at(std::size_t bucket, const Slot& slot) {
    return reinterpret_cast<float*>(buckets_[bucket].memory().get()) + slot.offset;
  }
  void start_complete() {
    while (const auto next = progress_.next()) {
      Bucket& bucket = buckets_[*next];
      if (&bucket == &buckets_.back()) {
        const auto total = static_cast<float>(window_);
        bucket.write_extra({&total, 1});
      }
      bucket.start(concat("bucket ", *next));
    }
  }

  Communicator& comm_;
  std::vector<Bucket> buckets_;
  BucketProgress progress_;
  int window_ = 0;
};

class BucketTest : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, BucketTest, testing::Values(Wire::inproc, Wire::gloo, Wire::shm));

TEST_P(BucketTest, GradientsArriveInAnyOrderWhileOthersAreSummed) {
  RanksOptions options;
  options.wire = GetParam();
  for (const DataType wire : {DataType::f32, DataType::bf16}) {
    run_ranks(
        3,
        [&](Communicator& comm) {
          SomeGradients gradients(comm, wire);
          EXPECT_GT(gradients.bucket_count(), 5U);
          for (int window = 0; window < 8; ++window) {
            gradients.run(window);
            gradients.check(window);
          }
        },
        options);
  }
}

// 1 + 2^-10 is 1 in bf16. The remainder is added to the next window's gradient until the sum of
// remainders is 2^-7.
// docs/features.md, Gradients: Gradients sent in fp16, bf16 or int8 | `--wire`, `--error-feedback`
TEST(BucketErrors, OfRoundingAreAddedToTheNextWindow) {
  run_ranks(2, [](Communicator& comm) {
    constexpr std::size_t kCount = 100;
    Bucket bucket(comm,
                  {.type = DataType::f32, .wire = DataType::bf16, .count = kCount, .slots = {}}, 0,
                  /*error_feedback=*/true);
    auto* const gradients = reinterpret_cast<float*>(bucket.memory().get());
    auto* const errors = reinterpret_cast<float*>(bucket.residuals().get());
    float kept = 0;
    for (int window = 0; window < 10; ++window) {
      std::fill_n(gradients, kCount, 1 + 0x1p-10F);
      bucket.start("bucket");
      bucket.wait();
      EXPECT_TRUE(host_memory().is_finite(bucket.sums()));
      bucket.finish(/*count_errors=*/true);
      const float with = 1 + 0x1p-10F + kept;
      const float rounded = with > 1 + 0x1p-8F ? 1 + 0x1p-7F : 1;
      kept = with - rounded;
      EXPECT_THAT(std::vector<float>(gradients, gradients + kCount), Each(2 * rounded)) << window;
      EXPECT_THAT(std::vector<float>(errors, errors + kCount), Each(kept)) << window;
    }
    bucket.scale_residuals(0.5);
    EXPECT_EQ(errors[kCount - 1], kept / 2);
  });
}

// Rank 1 rounds for its host, also what rank 2 has of a gradient that it lacks itself.
TEST(BucketErrors, OfInt8AddUpWithTheSumsToAllGradients) {
  constexpr std::size_t kCount = 212;
  const std::vector<Slot> slots = {{.parameter = 0, .offset = 0, .count = 100},
                                   {.parameter = 1, .offset = 112, .count = 100}};
  std::vector<double> exact(kCount);
  std::vector<double> found(kCount);
  std::mutex mutex;
  run_ranks(3,
            [&](Communicator& comm) {
              Bucket bucket(comm, {.wire = DataType::i8, .count = kCount, .slots = slots}, 0,
                            /*error_feedback=*/true);
              auto* const gradients = reinterpret_cast<float*>(bucket.memory().get());
              const std::span residuals(reinterpret_cast<float*>(bucket.residuals().get()), kCount);
              std::mt19937 random(static_cast<unsigned>(comm.rank()));
              std::normal_distribution<float> normal;
              for (int window = 0; window < 9; ++window) {
                const bool is_skipped = window == 4;
                const std::vector<float> before(residuals.begin(), residuals.end());
                std::vector<float> given(kCount);
                for (const Slot& slot : slots) {
                  if (slot.parameter == 1 && comm.rank() == 1 && window % 2 == 1) {
                    bucket.clear(slot);
                    continue;
                  }
                  for (std::size_t i = 0; i < slot.count; ++i)
                    given[slot.offset + i] = normal(random);
                  std::copy_n(&given[slot.offset], slot.count, gradients + slot.offset);
                }
                bucket.start("bucket");
                bucket.wait();
                bucket.finish(/*count_errors=*/!is_skipped);
                if (is_skipped) {
                  EXPECT_TRUE(std::ranges::equal(residuals, before));
                  continue;
                }
                const std::lock_guard lock(mutex);
                for (std::size_t i = 0; i < kCount; ++i) {
                  exact[i] += given[i];
                  if (comm.rank() == 0) found[i] += gradients[i];
                }
              }
              EXPECT_TRUE(std::ranges::any_of(residuals, [](float one) { return one != 0; }) ==
                          (comm.rank() < 2))
                  << "only the first rank of a host rounds";
              const std::lock_guard lock(mutex);
              for (std::size_t i = 0; i < kCount; ++i) found[i] += residuals[i];
            },
            {.local_sizes = {1, 2}});
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_NEAR(found[i], exact[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace bp
