#include "trainer/optim/adamw.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <vector>

#include "bp/torch/elementwise.h"
#include "tests/support/torch_model.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

using bp::test::bits;
using bp::test::distance;
using bp::test::make_rows;
using bp::test::Mlp;

constexpr AdamWOptions kOptions = {.lr = 1e-2, .beta2 = 0.99, .eps = 1e-6};

std::unique_ptr<torch::optim::Optimizer> fused(const Mlp& model) {
  const auto p = model.parameters();
  return make_fused_adamw({{.parameters = {p[0], p[2], p[4]}, .weight_decay = 0.1},
                           {.parameters = {p[1], p[3], p[5]}, .weight_decay = 0}},
                          kOptions);
}

std::unique_ptr<torch::optim::Optimizer> reference(const Mlp& model) {
  const auto p = model.parameters();
  const auto options = [](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(kOptions.lr)
                                                            .betas({0.9, kOptions.beta2})
                                                            .eps(kOptions.eps)
                                                            .weight_decay(decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{p[0], p[2], p[4]}, options(0.1));
  groups.emplace_back(std::vector<at::Tensor>{p[1], p[3], p[5]}, options(0));
  return std::make_unique<torch::optim::AdamW>(groups);
}

void train(const Mlp& model, torch::optim::Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    optimizer.zero_grad();
    model.loss(make_rows(32, static_cast<std::uint64_t>(step))).backward();
    optimizer.step();
  }
}

void copy_state(const torch::optim::Optimizer& from, torch::optim::Optimizer& to) {
  std::stringstream bytes;
  torch::serialize::OutputArchive out;
  from.save(out);
  out.save_to(bytes);
  torch::serialize::InputArchive in;
  in.load_from(bytes);
  to.load(in);
}

// docs/features.md, Optimization: Adam and AdamW, with decay of matrices only | `--optimizer`,
// `--weight-decay`
TEST(FusedAdamW, EqualsTorchsAdamWWithGroups) {
  const Mlp model;
  const Mlp other;
  const auto fused_optimizer = fused(model);
  const auto torch_optimizer = reference(other);
  train(model, *fused_optimizer, 0, 20);
  train(other, *torch_optimizer, 0, 20);
  EXPECT_LT(distance(model.parameters(), other.parameters()), 2e-6);
  EXPECT_GT(distance(model.parameters(), Mlp().parameters()), 1e-2);
}

TEST(FusedAdamW, LearningRateOfAGroupCanBeSet) {
  const Mlp model;
  const auto optimizer = fused(model);
  optimizer->param_groups()[1].options().set_lr(0);
  train(model, *optimizer, 0, 1);
  EXPECT_NE(bits({model.parameters()[0]}), bits({Mlp().parameters()[0]}));
  EXPECT_EQ(bits({model.parameters()[1]}), bits({Mlp().parameters()[1]}));
}

// docs/acceptance.md, Optimizer: AdamW continues from saved state bit for bit.
TEST(FusedAdamW, ContinuesFromSavedStateBitForBit) {
  const Mlp model;
  const auto optimizer = fused(model);
  train(model, *optimizer, 0, 10);

  const Mlp resumed;
  const auto second = fused(resumed);
  train(resumed, *second, 0, 5);
  const auto third = fused(resumed);
  copy_state(*second, *third);
  train(resumed, *third, 5, 10);
  EXPECT_EQ(bits(model.parameters()), bits(resumed.parameters()));
}

TEST(FusedAdamW, LoadsStateThatTorchsAdamWSaved) {
  const Mlp model;
  const Mlp other;
  const auto torch_optimizer = reference(other);
  train(model, *reference(model), 0, 5);
  train(other, *torch_optimizer, 0, 5);
  const auto fused_optimizer = fused(other);
  copy_state(*torch_optimizer, *fused_optimizer);
  const auto uninterrupted = reference(model);
  copy_state(*torch_optimizer, *uninterrupted);
  train(other, *fused_optimizer, 5, 10);
  train(model, *uninterrupted, 5, 10);
  EXPECT_LT(distance(model.parameters(), other.parameters()), 2e-6);
}

TEST(FusedAdamW, LeavesParametersWithoutGradientAlone) {
  Mlp model;
  const auto optimizer = fused(model);
  model.loss(make_rows(4, 1)).backward();
  model.parameter(0).mutable_grad().reset();
  optimizer->step();
  EXPECT_EQ(bits({model.parameters()[0]}), bits({Mlp().parameters()[0]}));
  // Its first step comes later than those of the others.
  train(model, *optimizer, 0, 1);
  EXPECT_NE(bits({model.parameters()[0]}), bits({Mlp().parameters()[0]}));
}

// A table of 200 rows, of which each step reaches some: the upper half never.
class RowsOfATable : public ::testing::Test {
 protected:
  struct Table {
    at::Tensor rows =
        at::arange(200 * 24, at::kFloat).reshape({200, 24}).div(1000).requires_grad_();
    std::unique_ptr<torch::optim::Optimizer> optimizer =
        make_fused_adamw({{.parameters = {rows}, .weight_decay = 0.1}}, kOptions);
  };
  enum class Kind : std::uint8_t { dense, sparse };

  static void train(Table& table, Kind kind, int from, int to) {
    for (int step = from; step < to; ++step) {
      const at::Tensor numbers = at::arange(step % 3, 100, 7 + step % 5).unsqueeze(0);
      const at::Tensor values =
          at::arange(numbers.numel() * 24, at::kFloat).reshape({-1, 24}).sin().add(0.1 * step);
      const at::Tensor gradient = at::sparse_coo_tensor(numbers, values, {200, 24});
      table.rows.mutable_grad() = kind == Kind::sparse ? gradient : gradient.to_dense();
      table.optimizer->step();
    }
  }
};

TEST_F(RowsOfATable, MoveAsWithADenseGradient) {
  Table dense;
  Table sparse;
  train(dense, Kind::dense, 0, 30);
  train(sparse, Kind::sparse, 0, 30);
  EXPECT_LT(distance({dense.rows}, {sparse.rows}), 2e-6);
  EXPECT_GT(distance({Table().rows.slice(0, 0, 100)}, {sparse.rows.slice(0, 0, 100)}), 1e-2);
  // Rows that never had a gradient only decay.
  at::Tensor decayed = Table().rows.detach().slice(0, 100);
  for (int step = 0; step < 30; ++step) decayed.mul_(1 - kOptions.lr * 0.1);
  EXPECT_EQ(bits({sparse.rows.slice(0, 100)}), bits({decayed}));
}

TEST_F(RowsOfATable, ContinueFromSavedStateBitForBit) {
  Table uninterrupted;
  train(uninterrupted, Kind::sparse, 0, 20);
  Table before;
  train(before, Kind::sparse, 0, 9);
  Table after;
  train(after, Kind::sparse, 0, 1);  // which loading must forget
  copy_state(*before.optimizer, *after.optimizer);
  {
    const at::NoGradGuard no_grad;
    after.rows.copy_(before.rows);
  }
  train(after, Kind::sparse, 9, 20);
  EXPECT_EQ(bits({after.rows}), bits({uninterrupted.rows}));
}

TEST_F(RowsOfATable, MayHaveDenseGradientsMeanwhile) {
  Table dense;
  Table mixed;
  train(dense, Kind::dense, 0, 12);
  train(mixed, Kind::sparse, 0, 4);
  train(mixed, Kind::dense, 4, 8);
  train(mixed, Kind::sparse, 8, 12);
  EXPECT_LT(distance({dense.rows}, {mixed.rows}), 2e-6);
}

// Two optimizers on the same memory, as those of two ranks of a host.
// docs/acceptance.md, Training: Ranks of a host that share a matrix divide its rows, with the same
// bits.
TEST_F(RowsOfATable, MayBeDividedBetweenRanks) {
  Table alone;
  Table first;
  Table second;
  second.rows.set_data(first.rows.detach());
  auto& rows = dynamic_cast<RowSharing&>(*first.optimizer);
  const std::shared_ptr<std::byte> notes(new std::byte[rows.bytes_for_rows(first.rows)],
                                         std::default_delete<std::byte[]>());
  rows.share_rows(first.rows, notes, 0, 2);
  dynamic_cast<RowSharing&>(*second.optimizer).share_rows(second.rows, notes, 1, 2);
  state_of(*second.optimizer)
      .set_state(second.rows, state_of(*first.optimizer).state_of(first.rows));
  for (Table* const table : {&first, &second}) state_of(*table->optimizer).defer_rows(true);
  for (int step = 0; step < 40; ++step) {
    for (Table* const table : {&alone, &first, &second}) {
      train(*table, Kind::sparse, step, step + 1);
    }
    const std::vector<std::int64_t> some = {step, 199 - step, 70};
    state_of(step % 2 == 0 ? *first.optimizer : *second.optimizer).catch_up(some);
    for (const std::int64_t i : some) {
      EXPECT_EQ(bits({first.rows[i]}), bits({alone.rows[i]})) << step << " " << i;
    }
  }
  for (Table* const table : {&first, &second}) state_of(*table->optimizer).catch_up();
  const auto everything = [](const Table& table) {
    const std::vector<at::Tensor> moments = state_of(*table.optimizer).state_of(table.rows).moments;
    return bits({table.rows, moments.at(0), moments.at(1)});
  };
  EXPECT_EQ(everything(first), everything(alone));
  EXPECT_EQ(everything(second), everything(alone));
}

// docs/acceptance.md, Training: Words that a batch does not use are updated later, with the same
// bits.
TEST_F(RowsOfATable, MayDeferUpdatesWithTheSameBits) {
  Table at_once;
  Table deferring;
  OptimizerState& state = state_of(*deferring.optimizer);
  state.defer_rows(true);
  const auto row = [](const Table& table, std::int64_t i) { return bits({table.rows[i]}); };
  const auto make_steps = [&](int from, int to) {
    for (int step = from; step < to; ++step) {
      for (Table* const table : {&at_once, &deferring}) {
        set_learning_rate(*table->optimizer, 1e-2 / (1 + step));
        train(*table, Kind::sparse, step, step + 1);
      }
    }
  };
  make_steps(0, 1);
  EXPECT_NE(row(deferring, 199), row(at_once, 199)) << "nothing was deferred";
  EXPECT_EQ(row(deferring, 7), row(at_once, 7)) << "a row with a gradient";
  make_steps(1, 50);  // more than may be deferred
  state.catch_up(std::vector<std::int64_t>{3, 199, 3});
  for (const std::int64_t i : {3, 199}) EXPECT_EQ(row(deferring, i), row(at_once, i)) << i;
  make_steps(50, 55);
  state.catch_up();
  const auto everything = [](const Table& table) {
    const std::vector<at::Tensor> moments = state_of(*table.optimizer).state_of(table.rows).moments;
    return bits({table.rows, moments.at(0), moments.at(1)});
  };
  EXPECT_EQ(everything(deferring), everything(at_once));

  make_steps(55, 58);
  state.defer_rows(false);
  make_steps(58, 59);  // makes the deferred ones, too
  EXPECT_EQ(everything(deferring), everything(at_once));
  state.defer_rows(true);
  make_steps(59, 61);
  train(at_once, Kind::dense, 61, 62);
  train(deferring, Kind::dense, 61, 62);
  EXPECT_EQ(everything(deferring), everything(at_once));
}

// A checkpoint would hold moments of one step and weights of another.
TEST_F(RowsOfATable, ThatAreBehindHaveNoState) {
  Table table;
  OptimizerState& state = state_of(*table.optimizer);
  state.defer_rows(true);
  train(table, Kind::sparse, 0, 1);
  EXPECT_DEATH((void)state.state_of(table.rows), "call catch_up\\(\\) first");
  EXPECT_DEATH(copy_state(*table.optimizer, *table.optimizer), "call catch_up\\(\\) first");
}

// A moment that shrinks by a tenth in each step would be a denormal number after 800 steps, and
// stay one for ever.
TEST_F(RowsOfATable, HaveNoDenormalMoments) {
  Table table;
  train(table, Kind::sparse, 0, 1);
  const at::Tensor none =
      at::sparse_coo_tensor(at::zeros({1, 0}, at::kLong), at::zeros({0, 24}), {200, 24});
  for (int step = 0; step < 1000; ++step) {
    table.rows.mutable_grad() = none;
    table.optimizer->step();
  }
  const ParameterState state = state_of(*table.optimizer).state_of(table.rows);
  EXPECT_EQ(state.step, 1001);
  EXPECT_EQ(state.moments[0].abs().max().item<float>(), 0);
  EXPECT_GT(state.moments[1].max().item<float>(), 0);
}

TEST(FusedAdamW, AcceptsGradientsOfAnotherLayout) {
  Mlp model;
  Mlp other;
  const auto fused_optimizer = fused(model);
  const auto torch_optimizer = reference(other);
  const at::Tensor gradient = at::arange(8 * 16, at::kFloat).reshape({8, 16}).t();
  model.parameter(0).mutable_grad() = gradient;
  other.parameter(0).mutable_grad() = gradient;
  fused_optimizer->step();
  torch_optimizer->step();
  EXPECT_LT(distance(model.parameters(), other.parameters()), 2e-6);
}

}  // namespace
}  // namespace bp::trainer
