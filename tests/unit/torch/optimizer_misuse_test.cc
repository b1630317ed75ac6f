// Every misuse of DistributedOptimizer gives an error that names the missing or superfluous call.
#include <ATen/core/Tensor.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <functional>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/torch_model.h"

namespace bp {
namespace {

using test::make_rows;
using test::Mlp;
using ::testing::HasSubstr;

std::string text_of(const std::function<void()>& action,
                    ErrorCode code = ErrorCode::invalid_argument) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not a bp::Error: " << error.what();
  }
  return "no error";
}

class Misuse : public ::testing::Test {
 protected:
  std::unique_ptr<DistributedOptimizer> make(const NamedTensors& parameters,
                                             const DistributedOptimizerOptions& options = {}) {
    return std::make_unique<DistributedOptimizer>(
        world, parameters, test::make_optimizer("sgd", model.parameters(), 0.1), options);
  }
  std::string refused(const NamedTensors& parameters,
                      const DistributedOptimizerOptions& options = {}) {
    return text_of([&] { (void)make(parameters, options); });
  }
  void backward(DistributedOptimizer& optimizer) { optimizer.backward(model.loss(rows), 4); }

  Communicator world = Communicator::create();
  Mlp model;
  test::Rows rows = make_rows(4, 1);
};

// docs/acceptance.md, Optimizer: One backward too many is refused.
TEST_F(Misuse, TooManyBackwards) {
  const auto optimizer = make(model.named_parameters(), {.micro_batches = 2});
  backward(*optimizer);
  backward(*optimizer);
  EXPECT_EQ(text_of([&] { backward(*optimizer); }),
            "DistributedOptimizer: backward() for a window that already has its 2 micro-batches: "
            "call step() first, raise micro_batches, or call begin_window()");
  EXPECT_TRUE(optimizer->step()) << "the window must still be complete";
}

TEST_F(Misuse, BackwardAfterReduce) {
  const auto optimizer = make(model.named_parameters(), {.micro_batches = 2});
  backward(*optimizer);
  optimizer->reduce();
  EXPECT_EQ(text_of([&] { backward(*optimizer); }),
            "DistributedOptimizer: backward() after reduce(): call step() first, which begins the "
            "next window");
}

TEST_F(Misuse, WindowBeforeReduce) {
  const auto optimizer = make(model.named_parameters());
  const std::string text =
      "DistributedOptimizer: window() before the window is reduced: call reduce(), "
      "clip_grad_norm() or step() first";
  EXPECT_EQ(text_of([&] { (void)optimizer->window(); }), text);
  backward(*optimizer);
  EXPECT_EQ(text_of([&] { (void)optimizer->window(); }), text);
  optimizer->reduce();
  EXPECT_EQ(optimizer->window().weight, 4);
  optimizer->step();
  EXPECT_EQ(optimizer->window().weight, 4)
      << "the weight is the last window's until the next begins";
  backward(*optimizer);
  EXPECT_EQ(text_of([&] { (void)optimizer->window(); }), text);
}

TEST_F(Misuse, ZeroGradInsideTheWindow) {
  const auto optimizer = make(model.named_parameters(), {.micro_batches = 2});
  optimizer->optimizer().zero_grad();  // at the beginning of a window: harmless
  backward(*optimizer);
  optimizer->optimizer().zero_grad();
  const std::string text =
      "DistributedOptimizer: the gradient of layer0.weight was cleared or replaced inside the "
      "window: leave out zero_grad(), step() empties the window itself";
  EXPECT_EQ(text_of([&] { backward(*optimizer); }), text);
  EXPECT_EQ(text_of([&] { optimizer->step(); }, ErrorCode::aborted),
            "DistributedOptimizer: unusable since an earlier call failed: " + text);
}

TEST_F(Misuse, LibTorchsClipInsideTheWindow) {
  const std::string text =
      "DistributedOptimizer: the gradient of layer0.weight was changed inside the window, before "
      "the ranks summed it: clip by clip_grad_norm(), and change gradients only between reduce() "
      "and step()";
  for (const bool steps : {false, true}) {
    const auto optimizer = make(model.named_parameters(), {.micro_batches = 2});
    backward(*optimizer);
    torch::nn::utils::clip_grad_norm_(model.parameters(), 1e-3);
    EXPECT_EQ(text_of([&] { steps ? static_cast<void>(optimizer->step()) : backward(*optimizer); }),
              text);
  }
}

TEST_F(Misuse, NoOptimizerToWrap) {
  EXPECT_EQ(text_of([&] {
              const DistributedOptimizer nothing(world, model.named_parameters(), nullptr);
            }),
            "DistributedOptimizer: there is no optimizer to wrap: make one of torch::optim with "
            "the same parameters");
}

TEST_F(Misuse, ZeroGradIsAllowedOnlyAtTheBeginningOfAWindow) {
  const auto optimizer = make(model.named_parameters(), {.micro_batches = 2});
  optimizer->zero_grad();
  backward(*optimizer);
  EXPECT_EQ(text_of([&] { optimizer->zero_grad(); }),
            "DistributedOptimizer: zero_grad in the middle of a window: call step() first");
  EXPECT_TRUE(optimizer->step()) << "the window must still be complete";
  optimizer->zero_grad();
}

TEST_F(Misuse, SecondBackwardOfAGraphThatWasNotRetained) {
  const auto optimizer = make(model.named_parameters(), {.micro_batches = 3});
  const at::Tensor loss = model.loss(rows);
  optimizer->backward(loss, 4, /*retain_graph=*/true);
  optimizer->backward(loss, 4);
  EXPECT_ANY_THROW(optimizer->backward(loss, 4)) << "autograd must report the error";
}

// docs/acceptance.md, Optimizer: zero_grad while gradients are in flight is refused.
TEST_F(Misuse, ZeroGradBetweenBackwardAndStep) {
  const auto optimizer = make(model.named_parameters());
  backward(*optimizer);
  optimizer->optimizer().zero_grad();
  EXPECT_EQ(text_of([&] { optimizer->step(); }),
            "DistributedOptimizer: the gradient of layer0.weight was changed or cleared while its "
            "all-reduce was in flight: leave out zero_grad(), step() empties the window itself");
  EXPECT_THAT(
      text_of([&] { optimizer->step(); }, ErrorCode::aborted),
      HasSubstr("unusable since an earlier call failed: DistributedOptimizer: the gradient"));
}

TEST_F(Misuse, BackwardOfTheLossItself) {
  const auto optimizer = make(model.named_parameters());
  EXPECT_THAT(text_of([&] { model.loss(rows).backward(); }),
              HasSubstr("got a gradient outside of backward(): call backward(loss, weight) instead "
                        "of loss.backward() for every loss that runs through it"));
}

TEST_F(Misuse, InvalidWeightsAndLosses) {
  const auto optimizer = make(model.named_parameters());
  for (const double weight : {-1.0, double{NAN}, double{INFINITY}}) {
    EXPECT_THAT(text_of([&] { optimizer->backward(model.loss(rows), weight); }),
                HasSubstr("give the number of samples in the micro-batch's mean loss"));
  }
  const std::string text =
      "DistributedOptimizer: backward() needs a scalar loss that depends on the parameters";
  EXPECT_EQ(text_of([&] { optimizer->backward(at::Tensor(), 1); }), text);
  EXPECT_EQ(text_of([&] { optimizer->backward(at::zeros({2}).requires_grad_(), 1); }), text);
  EXPECT_EQ(text_of([&] { optimizer->backward(model.loss(rows).detach(), 1); }), text);
  EXPECT_THAT(text_of([&] { (void)optimizer->clip_grad_norm(0); }),
              HasSubstr("clip_grad_norm to 0: the limit must be positive"));
  backward(*optimizer);
  EXPECT_TRUE(optimizer->step()) << "none of the refused calls may change the window";
}

TEST_F(Misuse, BroadcastInsideAWindow) {
  const auto optimizer = make(model.named_parameters(), {.micro_batches = 2});
  EXPECT_THAT(text_of([&] { optimizer->broadcast_parameters(1); }), HasSubstr("rank 1 of 1"));
  backward(*optimizer);
  EXPECT_THAT(text_of([&] { optimizer->broadcast_parameters(); }),
              HasSubstr("in the middle of a window: call step() first"));
}

// docs/acceptance.md, Optimizer: Parameters need names, each once.
TEST_F(Misuse, NamesAtConstruction) {
  auto parameters = model.named_parameters();
  parameters[2].first = "layer0.weight";
  EXPECT_EQ(refused(parameters),
            "DistributedOptimizer: two parameters are named layer0.weight: give each its own name");
  parameters[2].first = "";
  EXPECT_THAT(refused(parameters),
              HasSubstr("has no name: pass model->named_parameters().pairs()"));
  parameters = model.named_parameters();
  parameters.pop_back();
  EXPECT_EQ(
      refused(parameters),
      "DistributedOptimizer: parameter 5 of the wrapped optimizer's group 0, of shape [4], is "
      "not among the named ones, so its gradient would never be reduced: pass all of "
      "model->named_parameters().pairs(), to a new DistributedOptimizer where it was added later");
}

TEST_F(Misuse, TensorsAtConstruction) {
  auto parameters = model.named_parameters();
  const auto with = [&](const at::Tensor& tensor) {
    auto more = parameters;
    more.emplace_back("odd", tensor);
    return refused(more);
  };
  EXPECT_THAT(with(at::Tensor()), HasSubstr("parameter odd is undefined"));
  EXPECT_THAT(with(model.parameters()[0].mul(2)), HasSubstr("parameter odd is the result of a"));
  EXPECT_THAT(with(at::zeros({2}, at::kComplexFloat).requires_grad_()),
              HasSubstr("elements of type ComplexFloat; gradients can be f16 bf16 f32 f64"));
  for (auto& [name, tensor] : parameters) {
    tensor.set_requires_grad(false);
  }
  EXPECT_EQ(refused(parameters),
            "DistributedOptimizer: none of the 6 parameters requires a gradient");
}

TEST_F(Misuse, OptionsAtConstruction) {
  EXPECT_THAT(refused(model.named_parameters(), {.micro_batches = 0}),
              HasSubstr("micro_batches is 0, but a window has at least one"));
  EXPECT_THAT(refused(model.named_parameters(), {.nominal_weight = -1}),
              HasSubstr("nominal_weight is -1, but must be positive"));
  EXPECT_EQ(refused(model.named_parameters(), {.wire = DataType::i32}),
            "DistributedOptimizer: wire is i32, but gradients travel as f32, f16, bf16 or i8");
  EXPECT_EQ(refused(model.named_parameters(), {.error_feedback = true}),
            "DistributedOptimizer: error_feedback without a narrow wire, where nothing is rounded: "
            "set wire to f16, bf16 or i8");
}

TEST_F(Misuse, InvalidStates) {
  const auto optimizer = make(model.named_parameters());
  const DistributedOptimizer::State fine = optimizer->state();
  const auto refusal = [&](auto change) {
    DistributedOptimizer::State state = fine;
    change(state);
    return text_of([&] { optimizer->load_state(state); });
  };
  EXPECT_EQ(refusal([](auto& state) { state.nominal_weight = -1; }),
            "DistributedOptimizer: the state has nominal weight -1 and loss scale 1, which cannot "
            "be");
  EXPECT_EQ(refusal([](auto& state) { state.loss_scale = NAN; }),
            "DistributedOptimizer: the state has nominal weight 0 and loss scale nan, which cannot "
            "be");
  EXPECT_EQ(refusal([](auto& state) {
              state.bucket_order = {0, 1};
            }),
            "DistributedOptimizer: the state has a bucket order of 2 parameters which is none of "
            "the 6 here: load it into the same model");
  EXPECT_EQ(refusal([](auto&) {}), "no error");
}

TEST_F(Misuse, TwoOptimizersOfOneParameter) {
  auto first = make(model.named_parameters());
  EXPECT_EQ(refused(model.named_parameters()),
            "DistributedOptimizer: parameter layer0.weight already belongs to another one: destroy "
            "that first");
  backward(*first);
  EXPECT_TRUE(first->step()) << "the first optimizer must stay usable";
  first.reset();
  EXPECT_EQ(refused(model.named_parameters()), "no error");
  model.loss(rows).backward();  // no hook is left
}

TEST_F(Misuse, ThawingAParameterFrozenAtConstruction) {
  model.parameter(0).set_requires_grad(false);
  const auto optimizer = make(model.named_parameters());
  backward(*optimizer);
  optimizer->step();
  model.parameter(0).set_requires_grad(true);
  EXPECT_EQ(text_of([&] { backward(*optimizer); }),
            "DistributedOptimizer: parameter layer0.weight was frozen when the optimizer was made "
            "and is not reduced: make the optimizer first, freeze afterwards");
}

TEST_F(Misuse, ParameterOfAnotherTypeOrShape) {
  const std::string advice =
      " when the optimizer was made: change the model first, and make the optimizer afterwards";
  const auto optimizer = make(model.named_parameters());
  const auto convert = [&](at::ScalarType type) {
    for (const at::Tensor& one : model.parameters()) one.set_data(one.detach().to(type));
  };
  convert(at::kDouble);
  EXPECT_EQ(text_of([&] { backward(*optimizer); }),
            "DistributedOptimizer: parameter layer0.weight is Double [16, 8] on cpu and was Float "
            "[16, 8] on cpu" +
                advice);
  convert(at::kFloat);
  backward(*optimizer);
  model.parameter(1).set_data(at::zeros({2}));
  EXPECT_EQ(text_of([&] { optimizer->step(); }),
            "DistributedOptimizer: parameter layer0.bias is Float [2] on cpu and was Float [16] on "
            "cpu" +
                advice);
}

TEST_F(Misuse, WeightFarFromTheNominalOne) {
  const auto optimizer = make(model.named_parameters(), {.nominal_weight = 2e-300});
  EXPECT_EQ(
      text_of([&] { optimizer->backward(model.loss(rows), 1e-40); }),
      "DistributedOptimizer: backward() with weight 1e-40 multiplies the loss by 5e+259, since the "
      "nominal weight of a window is 2e-300, and that is out of the range of Float: set "
      "nominal_weight to about the weight of a window over all ranks");
}

// docs/acceptance.md, Optimizer: A sparse gradient in another form than rows is refused by name.
TEST_F(Misuse, SparseGradient) {
  const at::Tensor weight = at::zeros({5, 3}).requires_grad_();
  DistributedOptimizer optimizer(world, {{"words", weight}},
                                 test::make_optimizer("sgd", {weight}, 0.1));
  const at::Tensor rows_of_it = at::embedding(weight, at::zeros({2}, at::kLong), -1, false, true);
  EXPECT_EQ(text_of([&] { optimizer.backward(rows_of_it.sum(), 1); }),
            "DistributedOptimizer: parameter words got a Sparse gradient: make its embedding with "
            "sparse(false), or name it in sparse_gradients");
}

TEST_F(Misuse, SparseGradientsThatAreNotSparse) {
  EXPECT_EQ(
      refused(model.named_parameters(), {.sparse_gradients = {"words"}}),
      "DistributedOptimizer: sparse_gradients names words, which is not a trained parameter with "
      "rows");
  const auto optimizer = make(model.named_parameters(), {.sparse_gradients = {"layer0.weight"}});
  EXPECT_THAT(
      text_of([&] { backward(*optimizer); }),
      HasSubstr("layer0.weight got a Strided gradient: do not name it in sparse_gradients"));
}

}  // namespace
}  // namespace bp
