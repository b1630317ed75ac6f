// Every optimizer of bert_train: against torch.optim and the papers (tests/golden/optim), on any
// number of threads, and from a saved state.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <torch/optim/optimizer.h>

#include <map>
#include <ostream>
#include <string>

#include "tests/support/places.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

struct OptimizerCase {
  std::string name;  // in the golden file
  std::string optimizer;
  double lr = 0.01;
  OptimizerOptions numbers = {};
  std::vector<std::string> moments = {};
};
void PrintTo(const OptimizerCase& one, std::ostream* out) { *out << one.name; }

RunSettings options_of(const OptimizerCase& one) {
  RunSettings options;
  options.optimizer = one.optimizer;
  options.weight_decay = 0.1;
  options.beta1 = one.numbers.beta1;
  options.beta2 = one.numbers.beta2;
  options.epsilon = one.numbers.epsilon;
  options.momentum = one.numbers.momentum;
  options.nesterov = one.numbers.nesterov;
  options.rho = one.numbers.rho;
  return options;
}

class Optimizers : public ::testing::TestWithParam<OptimizerCase> {
 protected:
  [[nodiscard]] static std::unique_ptr<torch::optim::Optimizer> make(
      const NamedParameters& parameters) {
    return make_optimizer(parameters, options_of(GetParam()));
  }
  static void make_step(torch::optim::Optimizer& optimizer,
                        const NamedParameters& parameters,
                        const std::map<std::string, at::Tensor>& gradients,
                        double lr) {
    set_learning_rate(optimizer, lr);
    for (const auto& [name, parameter] : parameters) {
      parameter.mutable_grad() = gradients.at(name);
    }
    optimizer.step();
  }
};

// docs/acceptance.md, Training: Each optimizer computes what torch.optim or its paper says.
// docs/features.md, Optimization: LAMB, Adadelta, SGD and Lion | `--optimizer`
TEST_P(Optimizers, EqualTorchOrThePaperAfterAHundredSteps) {
  const auto expected = read_tensors(kSourceDir + "/tests/golden/optim/expected.safetensors");
  NamedParameters parameters;
  for (const char* name : {"dense.weight", "zeros.weight", "dense.bias"}) {
    parameters.emplace_back(name,
                            expected.at(std::string("start.") + name).clone().requires_grad_(true));
  }
  const auto optimizer = make(parameters);
  for (int step = 0; step < 100; ++step) {
    std::map<std::string, at::Tensor> gradients;
    for (const auto& [name, parameter] : parameters) {
      gradients[name] = expected.at("gradients." + name)[step];
    }
    make_step(*optimizer, parameters, gradients, GetParam().lr * (1 - step / 100.0));
  }
  for (const auto& [name, parameter] : parameters) {
    const at::Tensor& end = expected.at(GetParam().name + "." + name);
    const float largest = end.abs().max().item<float>();
    EXPECT_LE((parameter - end).abs().max().item<float>(), 2e-6F * (1 + largest)) << name;
    EXPECT_GE((expected.at("start." + name) - end).abs().max().item<float>(), 1e-2) << name;
  }
}

// Larger than what one thread takes, with a rest that fills no vector.
std::map<std::string, at::Tensor> random_tensors(std::uint64_t seed) {
  at::manual_seed(seed);
  return {{"dense.weight", at::randn({401, 503})}, {"dense.bias", at::randn({5})}};
}

NamedParameters random_parameters() {
  NamedParameters parameters;
  for (const auto& [name, values] : random_tensors(1)) {
    parameters.emplace_back(name, values.clone().requires_grad_(true));
  }
  return parameters;
}

// docs/acceptance.md, Training: Each optimizer is the same on any number of threads.
TEST_P(Optimizers, AreTheSameOnAnyNumberOfThreads) {
  const int usual = at::get_num_threads();
  const auto train = [](int threads) {
    at::set_num_threads(threads);
    const NamedParameters parameters = random_parameters();
    const auto optimizer = make(parameters);
    for (std::uint64_t step = 0; step < 3; ++step) {
      make_step(*optimizer, parameters, random_tensors(2 + step), GetParam().lr);
    }
    return parameters;
  };
  const NamedParameters one = train(1);
  const NamedParameters three = train(3);
  at::set_num_threads(usual);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].second.equal(three[i].second)) << one[i].first;
  }
}

// docs/acceptance.md, Training: Each optimizer continues from its state bit for bit.
TEST_P(Optimizers, ContinueFromTheirStateBitForBit) {
  const NamedParameters whole = random_parameters();
  const auto optimizer = make(whole);
  EXPECT_EQ(state_of(*optimizer).moment_names(), GetParam().moments);
  EXPECT_EQ(moment_names(options_of(GetParam())), GetParam().moments);
  make_step(*optimizer, whole, random_tensors(2), GetParam().lr);
  NamedParameters resumed;
  for (const auto& [name, parameter] : whole) {
    resumed.emplace_back(name, parameter.detach().clone().requires_grad_(true));
  }
  const auto second = make(resumed);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ParameterState state = state_of(*optimizer).state_of(whole[i].second);
    EXPECT_EQ(state.step, 1);
    for (at::Tensor& moment : state.moments) moment = moment.clone();
    state_of(*second).set_state(resumed[i].second, state);
  }
  make_step(*optimizer, whole, random_tensors(3), GetParam().lr);
  make_step(*second, resumed, random_tensors(3), GetParam().lr);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(whole[i].second.equal(resumed[i].second)) << whole[i].first;
  }
}

TEST_P(Optimizers, TakeGradientsOfAnotherLayout) {
  const NamedParameters plain = random_parameters();
  const NamedParameters turned = random_parameters();
  auto gradients = random_tensors(2);
  make_step(*make(plain), plain, gradients, GetParam().lr);
  gradients["dense.weight"] = gradients["dense.weight"].t().contiguous().t();
  make_step(*make(turned), turned, gradients, GetParam().lr);
  EXPECT_TRUE(plain[0].second.equal(turned[0].second));
}

const OptimizerOptions kBetas{.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-7};
INSTANTIATE_TEST_SUITE_P(
    All,
    Optimizers,
    ::testing::Values(
        OptimizerCase{"adamw", "adamw", 0.01, kBetas, {"exp_avg", "exp_avg_sq"}},
        OptimizerCase{"adam", "adam", 0.01, kBetas, {"exp_avg", "exp_avg_sq"}},
        OptimizerCase{"sgd", "sgd"},
        OptimizerCase{"momentum", "sgd", 0.01, {.momentum = 0.9}, {"momentum_buffer"}},
        OptimizerCase{
            "nesterov", "sgd", 0.01, {.momentum = 0.9, .nesterov = true}, {"momentum_buffer"}},
        OptimizerCase{
            "adadelta", "adadelta", 1, {.epsilon = 1e-6, .rho = 0.95}, {"square_avg", "acc_delta"}},
        OptimizerCase{"lion", "lion", 0.01, {.beta2 = 0.99}, {"exp_avg"}},
        OptimizerCase{"lamb", "lamb", 0.01, {.epsilon = 1e-6}, {"exp_avg", "exp_avg_sq"}}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace bp::trainer
