// DistributedOptimizer on one rank: what it passes to the wrapped optimizer.
#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <cmath>

#include "bp/log.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::bits;
using test::distance;
using test::make_rows;
using test::Mlp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Trainer {
  explicit Trainer(const DistributedOptimizerOptions& options = {}, const std::string& kind = "sgd")
      : optimizer(world,
                  model.named_parameters(),
                  test::make_optimizer(kind, model.parameters(), 0.1),
                  options) {}
  Communicator world = Communicator::create();
  Mlp model;
  DistributedOptimizer optimizer;
};

// One step of the bare optimizer on the mean over `rows`.
Mlp stepped(const test::Rows& rows) {
  Mlp model;
  const auto optimizer = test::make_optimizer("sgd", model.parameters(), 0.1);
  model.loss(rows).backward();
  optimizer->step();
  return model;
}

class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel, std::string_view text) { lines.emplace_back(text); });
  }
  ~Warnings() { set_log_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  std::vector<std::string> lines;
};

TEST(Optimizer, OneMicroBatchIsTheBareOptimizerBitForBit) {
  Trainer run;
  const auto rows = make_rows(32, 1);
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  EXPECT_TRUE(run.optimizer.step());
  EXPECT_EQ(bits(run.model.parameters()), bits(stepped(rows).parameters()));
}

// docs/acceptance.md, Optimizer: N micro-batches act as one large batch, with one reduction per
// bucket.
// docs/features.md, Gradients: Gradients accumulated over micro-batches | `--accumulate`
TEST(Optimizer, MicroBatchesOfUnequalWeightMakeTheMeanOverAllRows) {
  Trainer run({.micro_batches = 3});
  const auto rows = make_rows(32, 1);
  for (const auto& part : {rows.slice(0, 20), rows.slice(20, 25), rows.slice(25, 32)}) {
    run.optimizer.backward(run.model.loss(part), part.weight());
  }
  EXPECT_TRUE(run.optimizer.step());
  EXPECT_LT(distance(run.model.parameters(), stepped(rows).parameters()), 1e-6);
  EXPECT_EQ(run.optimizer.window().weight, 32);
  EXPECT_NEAR(run.optimizer.window().loss, Mlp().loss(rows).item<double>(), 1e-6);
}

TEST(Optimizer, PartialWindowIsAMeanToo) {
  Trainer run({.micro_batches = 4});
  const auto rows = make_rows(32, 1);
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  EXPECT_TRUE(run.optimizer.step());
  EXPECT_LT(distance(run.model.parameters(), stepped(rows).parameters()), 1e-6);
}

TEST(Optimizer, FillerRunsNoBackwardAndCountsNothing) {
  Trainer run({.micro_batches = 2});
  const auto rows = make_rows(32, 1);
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  run.optimizer.backward(at::Tensor(), 0);
  EXPECT_TRUE(run.optimizer.step());
  EXPECT_EQ(run.optimizer.window().weight, 32);
  EXPECT_LT(distance(run.model.parameters(), stepped(rows).parameters()), 1e-6);
}

TEST(Optimizer, WithoutAnyWeightNothingIsStepped) {
  Trainer run({}, "adamw");
  run.optimizer.backward(at::Tensor(), 0);
  EXPECT_EQ(run.optimizer.clip_grad_norm(1), 0);
  EXPECT_FALSE(run.optimizer.step());
  EXPECT_FALSE(run.optimizer.step()) << "a window without micro-batches must not step";
  EXPECT_EQ(run.optimizer.window().weight, 0);
  EXPECT_EQ(run.optimizer.window().loss, 0);
  EXPECT_EQ(bits(run.model.parameters()), bits(Mlp().parameters()));
}

TEST(Optimizer, WindowsDoNotLeakIntoEachOther) {
  Trainer run;
  const auto rows = make_rows(32, 1);
  run.optimizer.backward(run.model.loss(make_rows(8, 2)), 8);
  run.optimizer.step();
  const Mlp& model = run.model;
  EXPECT_FALSE(model.parameters()[0].grad().defined()) << "step() must empty the window";
  const auto before = bits(model.parameters());
  run.optimizer.backward(model.loss(rows), rows.weight());
  run.optimizer.reduce();
  EXPECT_EQ(before, bits(model.parameters())) << "reduce() must not step";
  const auto gradient = model.parameters()[0].grad().clone();
  model.parameters()[0].mutable_grad().reset();
  Mlp other;
  for (std::size_t i = 0; i < other.parameters().size(); ++i) {
    other.parameter(i).set_data(model.parameters()[i].detach());
  }
  other.loss(rows).backward();
  EXPECT_LT(distance({gradient}, {other.parameters()[0].grad()}), 1e-6);
}

TEST(Optimizer, ClipsTheNormOfTheMeanGradient) {
  Trainer run({.micro_batches = 2});
  const auto rows = make_rows(32, 1);
  Mlp other;
  other.loss(rows).backward();
  double squares = 0;
  for (const auto& parameter : other.parameters()) {
    squares += std::pow(parameter.grad().norm().item<double>(), 2);
  }
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  const double norm = run.optimizer.clip_grad_norm(0.1);
  EXPECT_NEAR(norm, std::sqrt(squares), 1e-6);
  EXPECT_GT(norm, 0.2) << "the norm must exceed the limit, else nothing is clipped";
  const double clipped = run.optimizer.clip_grad_norm(0.1);
  EXPECT_LE(clipped, 0.1);
  EXPECT_GT(clipped, 0.0999);
  EXPECT_TRUE(run.optimizer.step());
}

TEST(Optimizer, ClippingWellAboveTheNormChangesNothing) {
  Trainer run;
  const auto rows = make_rows(32, 1);
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  run.optimizer.clip_grad_norm(1e6);
  run.optimizer.step();
  EXPECT_EQ(bits(run.model.parameters()), bits(stepped(rows).parameters()));
}

TEST(Optimizer, NormThatIsNotFiniteIsReportedAndNothingScaled) {
  Trainer run;
  run.optimizer.backward(run.model.loss(make_rows(4, 1)).mul(INFINITY), 4);
  EXPECT_FALSE(std::isfinite(run.optimizer.clip_grad_norm(1)));
}

// docs/features.md, Gradients: Parameters without a gradient | They stay as they are, and are named
// once.
TEST(Optimizer, ParameterWithoutGradientStaysAsItIsAndIsNamedOnce) {
  const Warnings warnings;
  Trainer run({}, "adamw");  // adamw would decay it
  for (int step = 0; step < 2; ++step) {
    run.optimizer.backward(run.model.parameter(0).sum(), 1);
    run.optimizer.reduce();
    EXPECT_FALSE(run.model.parameters()[5].grad().defined());
    run.optimizer.step();
  }
  EXPECT_EQ(bits({run.model.parameters()[1]}), bits({Mlp().parameters()[1]}));
  EXPECT_THAT(warnings.lines,
              ElementsAre("DistributedOptimizer: no rank has a gradient in this window for 5 of 6 "
                          "parameters (layer0.bias, layer1.weight, layer1.bias, layer2.weight, "
                          "layer2.bias), and step() leaves them as they are. Freeze what the loss "
                          "does not use. Said once."));
}

TEST(Optimizer, OfManyParametersWithoutGradientFiveAreNamed) {
  const Warnings warnings;
  Communicator world = Communicator::create();
  NamedTensors parameters;
  std::vector<at::Tensor> tensors;
  for (const char* const name : {"used", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}) {
    tensors.push_back(at::ones({2}).requires_grad_());
    parameters.emplace_back(name, tensors.back());
  }
  DistributedOptimizer optimizer(world, parameters, test::make_optimizer("sgd", tensors, 0.1));
  optimizer.backward(tensors[0].sum(), 1);
  optimizer.step();
  EXPECT_THAT(warnings.lines,
              ElementsAre(HasSubstr("for 11 of 12 parameters (a, b, c, d, e and 6 more), and")));
}

TEST(Optimizer, FrozenParameterIsLeftAloneAndCanThaw) {
  const Warnings warnings;
  Trainer run({}, "adamw");  // adamw would decay the weights
  const auto rows = make_rows(32, 1);
  run.model.parameter(0).set_requires_grad(false);
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  run.optimizer.step();
  EXPECT_EQ(bits({run.model.parameters()[0]}), bits({Mlp().parameters()[0]}));
  run.model.parameter(0).set_requires_grad(true);
  run.optimizer.backward(run.model.loss(rows), rows.weight());
  run.optimizer.step();
  EXPECT_NE(bits({run.model.parameters()[0]}), bits({Mlp().parameters()[0]}));
  EXPECT_THAT(warnings.lines, ElementsAre());
}

TEST(Optimizer, TiedWeightsGetTheSumOfTheirUses) {
  Communicator world = Communicator::create();
  const auto weight = at::Tensor(Mlp().parameters()[1]);
  DistributedOptimizer optimizer(world, {{"embedding", weight}, {"decoder", weight}},
                                 test::make_optimizer("sgd", {weight}, 0.1));
  optimizer.backward(weight.sum().mul(2).add(weight.sum().mul(3)), 7);
  optimizer.reduce();
  EXPECT_EQ(weight.grad().min().item<double>(), 5);
  EXPECT_EQ(weight.grad().max().item<double>(), 5);
}

TEST(Optimizer, StopRidesWithTheNextWindow) {
  Trainer run;
  const auto rows = make_rows(4, 1);
  run.optimizer.backward(run.model.loss(rows), 4);
  run.optimizer.request_stop();  // too late for this window
  run.optimizer.step();
  EXPECT_FALSE(run.optimizer.window().stop);
  run.optimizer.backward(run.model.loss(rows), 4);
  run.optimizer.step();
  EXPECT_TRUE(run.optimizer.window().stop);
  run.optimizer.step();
  EXPECT_FALSE(run.optimizer.window().stop) << "the stop must be reported once";
}

TEST(Optimizer, OneRankHasNoBucketsAndNoCollectives) {
  Trainer run;
  run.optimizer.broadcast_parameters();
  const std::size_t before = run.world.recent().size();
  run.optimizer.backward(run.model.loss(make_rows(4, 1)), 4);
  run.optimizer.step();
  EXPECT_EQ(run.world.recent().size(), before);
  EXPECT_EQ(run.optimizer.bucket_count(), 0U);
  EXPECT_EQ(run.optimizer.collectives(), 0U);
  EXPECT_EQ(run.optimizer.nominal_weight(), 4);
}

TEST(Optimizer, EarlierGradientsAreDropped) {
  Communicator world = Communicator::create();
  Mlp model;
  const auto rows = make_rows(32, 1);
  model.loss(rows).backward();
  DistributedOptimizer optimizer(world, model.named_parameters(),
                                 test::make_optimizer("sgd", model.parameters(), 0.1));
  optimizer.backward(model.loss(rows), rows.weight());
  optimizer.step();
  EXPECT_EQ(bits(model.parameters()), bits(stepped(rows).parameters()));
}

}  // namespace
}  // namespace bp
