// Windows over several ranks: what is reduced, when that starts, and what the totals carry.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/ranks/torch/window_rank.h"
#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "tests/support/torch_ranks.h"

namespace bp {
namespace {

using test::bits;
using test::distance;
using test::gradient_bits;
using test::make_rows;
using test::Mlp;
using test::run_ranks;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

// A world has two groups, each with data of its own.
// docs/acceptance.md, Operations in flight and groups: An optimizer of a group reduces among its
// members only.
TEST(Window, OfAGroupIsReducedAmongItsMembersOnly) {
  run_ranks(4, [](Communicator& world) {
    const int color = world.rank() % 2;
    Communicator group = world.split(color);
    WindowRank rank(group);
    const test::Rows rows = make_rows(8, 7 + static_cast<std::uint64_t>(color));
    rank.backward(rows.slice(4 * group.rank(), 4 * group.rank() + 4));
    rank.optimizer->step();

    Mlp alone;
    alone.loss(rows).backward();
    test::make_optimizer("sgd", alone.parameters(), 0.1)->step();
    EXPECT_LT(distance(rank.model.parameters(), alone.parameters()), 1e-6);
    const auto all = all_gather_object(world, bits(rank.model.parameters()));
    EXPECT_EQ(all[0], all[2]);
    EXPECT_EQ(all[1], all[3]);
    EXPECT_NE(all[0], all[1]);
  });
}

// Rank r of 3 makes r micro-batches of a window of 3. Rank 1 has 3 rows, rank 2 has 5 and 8 rows,
// and rank 0 has none.
struct Part {
  int rank;
  std::int64_t from;
  std::int64_t to;
};
constexpr Part kUneven[] = {{1, 0, 3}, {2, 3, 8}, {2, 8, 16}};

// docs/acceptance.md, Ranks without data: Micro-batches of unequal weight make the exact mean over
// all rows. A rank without data has the weight 0, and its mean is not NaN.
// docs/features.md, Splits and batches: Ranks without rows | Their batches have the weight 0, so
// means are exact.
// docs/features.md, Gradients: The mean over samples of uneven batches | always
TEST(Window, PartialWindowsOfUnevenWeightAreTheExactMean) {
  const auto rows = make_rows(16, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(3, [&](Communicator& world) {
    WindowRank rank(world, {.micro_batches = 3});
    for (const Part& part : kUneven) {
      if (part.rank == world.rank()) {
        rank.backward(rows.slice(part.from, part.to));
      }
    }
    rank.optimizer->reduce();
    for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
      const auto gradient = rank.model.parameters()[i].grad();
      EXPECT_LT(distance({gradient}, {exact.parameters()[i].grad()}), 1e-6) << "parameter " << i;
    }
    EXPECT_EQ(rank.optimizer->window().weight, 16);
    EXPECT_NEAR(rank.optimizer->window().loss, exact.loss(rows).item<double>(), 1e-6);
    EXPECT_EQ(rank.optimizer->collectives(), rank.optimizer->bucket_count());
    EXPECT_TRUE(rank.optimizer->step());
    test::expect_equal_on_all_ranks(world, bits(rank.model.parameters()));
  });
}

// docs/acceptance.md, Unequal machines: Ranks with different numbers of micro-batches make the
// exact mean, start their buckets in their last one, and know each other's times.
TEST(Window, RanksMayBeginWindowsOfDifferentLengths) {
  const auto rows = make_rows(16, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world);
    DistributedOptimizer& optimizer = *rank.optimizer;
    const bool is_first = world.rank() == 0;
    for (std::size_t window = 0; window < 2; ++window) {
      optimizer.begin_window(is_first ? 3 : 1);
      if (!is_first) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::int64_t from = is_first ? 0 : 12;
      for (std::int64_t part = from; part < (is_first ? 12 : 16); part += 4) {
        EXPECT_EQ(optimizer.collectives(), window * optimizer.bucket_count());
        rank.backward(rows.slice(part, part + 4));
      }
      EXPECT_EQ(optimizer.collectives(), (window + 1) * optimizer.bucket_count());
      optimizer.reduce();
      const DistributedOptimizer::Window result = optimizer.window();
      EXPECT_EQ(result.weight, 16);
      EXPECT_EQ(result.seconds.size(), 2U);
      EXPECT_GT(result.seconds.at(0), 0);
      EXPECT_GE(result.seconds.at(1), 0.05);
      const auto gradient = rank.model.parameters()[0].grad();
      if (window == 0) {
        EXPECT_LT(distance({gradient}, {exact.parameters()[0].grad()}), 1e-6);
      }
      EXPECT_TRUE(optimizer.step());
    }
    // The next window has the usual length again.
    rank.backward(rows.slice(0, 8));
    EXPECT_THAT([&] { rank.backward(rows.slice(0, 8)); },
                ThrowsMessage<Error>(HasSubstr("already has its 1 micro-batches")));
    EXPECT_THAT([&] { optimizer.begin_window(2); },
                ThrowsMessage<Error>(HasSubstr("begin_window in the middle of a window")));
    EXPECT_TRUE(optimizer.step());
    EXPECT_THAT([&] { optimizer.begin_window(0); },
                ThrowsMessage<Error>(HasSubstr("begin_window(0)")));
  });
}

// docs/acceptance.md, Ranks without data: A rank without data starts the buckets of the others.
TEST(Window, FillerAtTheEndStartsTheBuckets) {
  const auto rows = make_rows(16, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world, {.micro_batches = 2});
    if (world.rank() == 0) {
      rank.backward(rows);
      rank.optimizer->backward(at::Tensor(), 0);
    } else {
      rank.optimizer->backward(at::Tensor(), 0);
      rank.optimizer->backward(at::Tensor(), 0);
    }
    EXPECT_EQ(rank.optimizer->collectives(), rank.optimizer->bucket_count());
    rank.optimizer->reduce();
    EXPECT_LT(distance({rank.model.parameters()[0].grad()}, {exact.parameters()[0].grad()}), 1e-6);
  });
}

// Weights and sums are powers of two, so the windows with data give the same bits in both runs.
// docs/acceptance.md, Ranks without data: A step for which no rank has data is skipped, and the
// next one works.
TEST(Window, WithoutAnyWeightStepIsSkippedAndTheNextWindowWorks) {
  run_ranks(2, [&](Communicator& world) {
    const auto rows = make_rows(16, 1);
    const auto mine = rows.slice(8 * world.rank(), 8 * world.rank() + 8);
    WindowRank undisturbed(world, {}, at::kFloat, "adamw");
    WindowRank rank(world, {}, at::kFloat, "adamw");
    for (int window = 0; window < 3; ++window) {
      const std::string before = bits(rank.model.parameters());
      rank.optimizer->backward(at::Tensor(), 0);
      EXPECT_EQ(rank.optimizer->clip_grad_norm(1), 0);
      for (const auto& parameter : rank.model.parameters()) {
        EXPECT_FALSE(parameter.grad().defined());
      }
      EXPECT_EQ(rank.optimizer->window().loss, 0);
      EXPECT_EQ(rank.optimizer->window().weight, 0);
      EXPECT_FALSE(rank.optimizer->window().overflow);
      EXPECT_FALSE(rank.optimizer->step());
      EXPECT_EQ(bits(rank.model.parameters()), before);

      for (WindowRank* one : {&rank, &undisturbed}) {
        one->backward(mine);
        EXPECT_TRUE(one->optimizer->step());
        EXPECT_EQ(one->optimizer->window().weight, 16);
      }
      EXPECT_NE(bits(rank.model.parameters()), before);
      EXPECT_EQ(bits(rank.model.parameters()), bits(undisturbed.model.parameters()));
    }
    test::expect_equal_on_all_ranks(world, bits(rank.model.parameters()));
  });
}

// The ways from a window to its step. Each must reduce once, divide once and log no warning.
TEST(Window, StepAfterReduceIsTheStepAlone) {
  struct Way {
    const char* name;
    void (*go)(DistributedOptimizer&);
  };
  const Way ways[] = {
      {"step", [](DistributedOptimizer&) {}},
      {"reduce, step", [](DistributedOptimizer& optimizer) { optimizer.reduce(); }},
      {"reduce twice, step",
       [](DistributedOptimizer& optimizer) {
         optimizer.reduce();
         optimizer.reduce();
       }},
      {"clip by nothing, step",
       [](DistributedOptimizer& optimizer) { EXPECT_LT(optimizer.clip_grad_norm(1e6), 1e6); }},
      {"reduce, clip by nothing, step", [](DistributedOptimizer& optimizer) {
         optimizer.reduce();
         EXPECT_LT(optimizer.clip_grad_norm(1e6), 1e6);
       }}};
  std::mutex mutex;
  std::string logged;
  set_log_sink([&](LogLevel, std::string_view text) {
    const std::lock_guard lock(mutex);
    logged += text;
  });
  run_ranks(3, [&](Communicator& world) {
    const auto rows = make_rows(42, 3);
    std::string first;
    for (const Way& way : ways) {
      WindowRank rank(world);
      const std::string untouched = bits(rank.model.parameters());
      for (int window = 0; window < 2; ++window) {
        // The parts have 4, 7 and 10 rows, so the divisor is not 1.
        const std::int64_t cuts[] = {0, 4, 11, 21};
        const std::int64_t from = 21 * window;
        rank.backward(rows.slice(from + cuts[world.rank()], from + cuts[world.rank() + 1]));
        way.go(*rank.optimizer);
        EXPECT_TRUE(rank.optimizer->step());
      }
      EXPECT_EQ(rank.optimizer->collectives(), 2 * rank.optimizer->bucket_count()) << way.name;
      EXPECT_NE(bits(rank.model.parameters()), untouched);
      if (first.empty()) first = bits(rank.model.parameters());
      EXPECT_EQ(bits(rank.model.parameters()), first) << way.name;
    }
    test::expect_equal_on_all_ranks(world, first);
  });
  set_log_sink({});
  EXPECT_EQ(logged, "");
}

TEST(Window, FirstBucketStartsBeforeTheLastGradientArrives) {
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world, {.micro_batches = 2});
    std::vector<std::uint64_t> started;
    // The hook runs just before the gradient of the first layer's weight is stored, the last of
    // all.
    rank.model.parameter(0).register_hook([&](const at::Tensor& gradient) {
      started.push_back(rank.optimizer->collectives());
      return gradient;
    });
    rank.backward(make_rows(4, 1));
    rank.backward(make_rows(4, 2));
    EXPECT_EQ(started.size(), 2U);
    EXPECT_EQ(started.front(), 0U) << "no bucket may start before the window's last micro-batch";
    EXPECT_GE(started.back(), 1U);
    EXPECT_LT(started.back(), rank.optimizer->bucket_count());
    EXPECT_EQ(rank.optimizer->collectives(), rank.optimizer->bucket_count());
    rank.optimizer->step();
  });
}

// docs/acceptance.md, Optimizer: Gradients stay the rank's own until they are reduced.
// docs/features.md, Gradients: A count of backward passes per step | the window, an explicit object
TEST(Window, GradientsAreTheRanksOwnUntilReduced) {
  run_ranks(2, [&](Communicator& world) {
    // Each micro-batch has the nominal weight, so its gradients are added unscaled.
    WindowRank rank(world, {.micro_batches = 3, .nominal_weight = 4});
    Mlp alone;
    for (int i = 0; i < 2; ++i) {
      const auto rows = make_rows(4, static_cast<std::uint64_t>(world.rank() * 2 + i));
      rank.backward(rows);
      alone.loss(rows).backward();
    }
    const std::string own = gradient_bits(rank.model);
    EXPECT_EQ(own, gradient_bits(alone));
    rank.optimizer->reduce();
    EXPECT_NE(gradient_bits(rank.model), own);
    test::expect_equal_on_all_ranks(world, gradient_bits(rank.model));
  });
}

// docs/acceptance.md, Optimizer: Gradients are views of their bucket.
TEST(Window, GradientsLieInTheSameBucketMemoryInEveryWindow) {
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world);
    std::vector<const void*> places;
    for (int step = 0; step < 3; ++step) {
      rank.backward(make_rows(4, 1));
      rank.optimizer->reduce();
      std::vector<const void*> now;
      for (const auto& parameter : rank.model.parameters()) {
        EXPECT_TRUE(parameter.grad().is_contiguous());
        now.push_back(parameter.grad().const_data_ptr());
      }
      // The last bucket holds the first layer: its bias, then its weight at the next multiple of 64
      // bytes.
      EXPECT_EQ(static_cast<const std::byte*>(now[0]) - static_cast<const std::byte*>(now[1]), 64);
      EXPECT_TRUE(places.empty() || places == now);
      places = now;
      rank.optimizer->step();
      rank.optimizer->optimizer().zero_grad();
    }
  });
}

// docs/acceptance.md, Optimizer: A gradient that only some ranks have reaches all.
TEST(Window, GradientThatOneRankLacksComesFromTheOthers) {
  run_ranks(2, [&](Communicator& world) {
    WindowRank rank(world);
    Mlp& model = rank.model;
    const at::Tensor some = model.parameter(1).sum();
    rank.optimizer->backward(world.rank() == 0 ? some : some.add(model.parameter(3).sum()), 1);
    rank.optimizer->reduce();
    EXPECT_EQ(model.parameter(1).grad().min().item<double>(), 1);
    EXPECT_EQ(model.parameter(3).grad().min().item<double>(), 0.5);
    EXPECT_FALSE(model.parameter(5).grad().defined()) << "no rank has one";
    test::expect_equal_on_all_ranks(world, gradient_bits(model));
    rank.optimizer->step();
    rank.backward(make_rows(4, 1));  // nothing of it may be left in the next window
    rank.optimizer->step();
    test::expect_equal_on_all_ranks(world, bits(model.parameters()));
  });
}

// docs/acceptance.md, Optimizer: Two parts of a model may be frozen alternately, as in a GAN.
TEST(Window, AlternatelyFrozenHalvesStayEqual) {
  run_ranks(3, [&](Communicator& world) {
    WindowRank rank(world);
    for (int round = 0; round < 10; ++round) {
      const std::size_t frozen = round % 2 == 0 ? 0 : 4;
      const auto before = bits({rank.model.parameters()[frozen]});
      const auto others_before = bits({rank.model.parameters()[4 - frozen]});
      rank.model.parameter(frozen).set_requires_grad(false);
      rank.backward(make_rows(4, static_cast<std::uint64_t>(round * 3 + world.rank())));
      rank.optimizer->step();
      EXPECT_EQ(bits({rank.model.parameters()[frozen]}), before);
      EXPECT_NE(bits({rank.model.parameters()[4 - frozen]}), others_before);
      rank.model.parameter(frozen).set_requires_grad(true);
      test::expect_equal_on_all_ranks(world, bits(rank.model.parameters()));
    }
    EXPECT_EQ(rank.optimizer->collectives(), 10 * rank.optimizer->bucket_count());
  });
}

// docs/acceptance.md, Optimizer: A parameter that is frozen on one rank only is an error that names
// it.
TEST(Window, FreezingOnOneRankOnlyIsAMismatchThatNamesTheParameter) {
  const auto ends = test::try_ranks(2, [](Communicator& world) {
    WindowRank rank(world);
    if (world.rank() == 1) {
      rank.model.parameter(2).set_requires_grad(false);
    }
    rank.backward(make_rows(4, 1));
    rank.optimizer->step();
  });
  EXPECT_THAT(ends, Each(AllOf(StartsWith("mismatch: "), HasSubstr("without layer1.weight"))));
}

// docs/features.md, Gradients: Statistics of all ranks in one reduction | They travel in the last
// bucket.
TEST(Window, StopOfOneRankReachesAllInTheSameWindow) {
  run_ranks(3, [&](Communicator& world) {
    WindowRank rank(world);
    for (int step = 0; step < 3; ++step) {
      if (world.rank() == 2 && step == 1) {
        rank.optimizer->request_stop();
      }
      rank.backward(make_rows(4, 1));
      rank.optimizer->step();
      EXPECT_EQ(rank.optimizer->window().stop, step == 1) << "step " << step;
    }
  });
}

}  // namespace
}  // namespace bp
