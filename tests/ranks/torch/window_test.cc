// Windows over several ranks: what is reduced, when that starts, and what the totals carry.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <mutex>
#include <string>

#include "bp/collective.h"
#include "bp/log.h"
#include "bp/torch/distributed_optimizer.h"
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

constexpr std::size_t kSmall = 256;  // bytes; gives four buckets for the Mlp

struct Rank {
  explicit Rank(Communicator& comm,
                DistributedOptimizerOptions options = {},
                at::ScalarType type = at::kFloat,
                const std::string& kind = "sgd")
      : world(comm), model(1, type) {
    options.first_bucket_bytes = kSmall;
    options.bucket_bytes = 4 * kSmall;
    optimizer = std::make_unique<DistributedOptimizer>(
        world, model.named_parameters(), test::make_optimizer(kind, model.parameters(), 0.1),
        options);
  }
  void backward(const test::Rows& rows) { optimizer->backward(model.loss(rows), rows.weight()); }
  Communicator& world;
  Mlp model;
  std::unique_ptr<DistributedOptimizer> optimizer;
};

// A world has two groups, each with data of its own.
// docs/acceptance.md, Operations in flight and groups: An optimizer of a group reduces among its
// members only.
TEST(Window, OfAGroupIsReducedAmongItsMembersOnly) {
  run_ranks(4, [](Communicator& world) {
    const int color = world.rank() % 2;
    Communicator group = world.split(color);
    Rank rank(group);
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
// all rows. A rank without data has the weight 0, and its mean is no NaN.
// docs/features.md, Splits and batches: Ranks without rows | Their batches have the weight 0, so
// means are exact.
// docs/features.md, Gradients: The mean over samples of uneven batches | always
TEST(Window, PartialWindowsOfUnevenWeightAreTheExactMean) {
  const auto rows = make_rows(16, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(3, [&](Communicator& world) {
    Rank rank(world, {.micro_batches = 3});
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

// docs/acceptance.md, Ranks without data: A rank without data starts the buckets of the others.
TEST(Window, FillerAtTheEndStartsTheBuckets) {
  const auto rows = make_rows(16, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(2, [&](Communicator& world) {
    Rank rank(world, {.micro_batches = 2});
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
    Rank undisturbed(world, {}, at::kFloat, "adamw");
    Rank rank(world, {}, at::kFloat, "adamw");
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

      for (Rank* one : {&rank, &undisturbed}) {
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
      Rank rank(world);
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
    Rank rank(world, {.micro_batches = 2});
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
    Rank rank(world, {.micro_batches = 3, .nominal_weight = 4});
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
    Rank rank(world);
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
    Rank rank(world);
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
    Rank rank(world);
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
    Rank rank(world);
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
    Rank rank(world);
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

// docs/acceptance.md, Optimizer: Weights are scaled by a nominal weight, so that halves on the wire
// stay in range.
TEST(Window, NominalWeightIsRankZerosFirstOrTheOption) {
  run_ranks(2, [&](Communicator& world) {
    Rank rank(world, {.micro_batches = 3});
    EXPECT_EQ(rank.optimizer->nominal_weight(), 0);
    rank.backward(make_rows(world.rank() == 0 ? 4 : 9, 1));
    EXPECT_EQ(rank.optimizer->nominal_weight(), 24);
    rank.optimizer->step();
    Mlp other;
    DistributedOptimizer chosen(world, other.named_parameters(),
                                test::make_optimizer("sgd", other.parameters(), 0.1),
                                {.nominal_weight = 7});
    chosen.step();
    EXPECT_EQ(chosen.nominal_weight(), 7);
    Rank filler(world);
    filler.optimizer->backward(at::Tensor(), 0);
    EXPECT_EQ(filler.optimizer->nominal_weight(), 1);
    filler.optimizer->step();
  });
}

TEST(Window, NominalWeightDoesNotChangeTheResult) {
  const auto rows = make_rows(13, 7);
  const Mlp exact(1, at::kDouble);
  exact.loss(rows).backward();
  run_ranks(2, [&](Communicator& world) {
    const auto mine = world.rank() == 0 ? rows.slice(0, 4) : rows.slice(4, 13);
    for (const double nominal : {0.0, 0.125, 1.0, 7.0, 1e6}) {
      Rank rank(world, {.nominal_weight = nominal});
      rank.backward(mine);
      rank.optimizer->reduce();
      for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
        EXPECT_LT(distance({rank.model.parameters()[i].grad()}, {exact.parameters()[i].grad()}),
                  1e-6)
            << nominal << ", parameter " << i;
      }
      test::expect_equal_on_all_ranks(world, gradient_bits(rank.model));
    }
  });
}

// docs/acceptance.md, Optimizer: A model in half precision is reduced in its own type, with the
// totals in floats.
TEST(Window, HalvesAreReducedInTheirOwnTypeWithTheTotalsInFloats) {
  run_ranks(2, [&](Communicator& world) {
    Rank rank(world, {}, at::kBFloat16);
    rank.optimizer->backward(rank.model.parameter(1).sum().mul(world.rank() + 1), 3);
    EXPECT_TRUE(rank.optimizer->step());
    EXPECT_EQ(rank.optimizer->window().weight, 6);
    test::expect_equal_on_all_ranks(world, bits(rank.model.parameters()));
    const auto moved = Mlp(1, at::kBFloat16).parameters()[1].sub(rank.model.parameter(1));
    EXPECT_NEAR(moved.mean().item<double>(), 0.15, 0.01);  // lr x the mean of 1 and 2
  });
}

// The exact mean of 1, 2 and 4 with weights that no f32 holds.
TEST(Window, WeightsAndLossAreAddedAsDoubles) {
  for (const double unit : {0.1, 16777217.0, 1e-300}) {
    run_ranks(3, [&](Communicator& world) {
      Rank rank(world, {}, at::kDouble);
      const double mine = unit * (world.rank() + 1);
      const at::Tensor loss = rank.model.parameter(1).sum() * (1 << world.rank());
      rank.optimizer->backward(loss, mine);
      rank.optimizer->reduce();
      const double weight = unit * 1 + unit * 2 + unit * 3;
      EXPECT_EQ(rank.optimizer->window().weight, weight);
      EXPECT_DOUBLE_EQ(rank.model.parameter(1).grad()[0].item<double>(), 17.0 / 6);
      const double sum = Mlp(1, at::kDouble).parameter(1).sum().item<double>();
      EXPECT_DOUBLE_EQ(rank.optimizer->window().loss, sum * 17 / 6);
    });
  }
}

TEST(Window, ResidualOfAParameterWithoutGradientWaitsForTheNextOne) {
  run_ranks(2, [](Communicator& world) {
    Rank rank(world, {.nominal_weight = 2, .wire = DataType::bf16, .error_feedback = true});
    const auto residual_of_bias = [&] {
      for (const auto& [name, residual] : rank.optimizer->state().residuals) {
        if (name == "layer0.bias") return residual.abs().max().item<double>();
      }
      return 0.0;
    };
    const auto backward = [&](std::size_t parameter) {
      rank.optimizer->backward(rank.model.parameter(parameter).sum() * (1 + 0x1p-13), 1);
      EXPECT_TRUE(rank.optimizer->step());
    };
    backward(1);
    const double residual = residual_of_bias();
    EXPECT_EQ(residual, 0x1p-14);
    backward(3);
    EXPECT_EQ(residual_of_bias(), residual);
  });
}

TEST(Window, DoublesStayDoubles) {
  run_ranks(2, [&](Communicator& world) {
    const auto rows = make_rows(8, 1);
    const Mlp exact(1, at::kDouble);
    exact.loss(rows).backward();
    Rank rank(world, {}, at::kDouble);
    rank.backward(rows.slice(world.rank() * 4, world.rank() * 4 + 4));
    rank.optimizer->reduce();
    EXPECT_LT(distance({rank.model.parameters()[0].grad()}, {exact.parameters()[0].grad()}), 1e-15);
  });
}

}  // namespace
}  // namespace bp
