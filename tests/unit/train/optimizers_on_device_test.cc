// Every optimizer computes the same on a device as on the CPU, and its state goes from one to the
// other.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>

#include "tests/unit/model/on_device.h"
#include "trainer/optim/optimizer.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

using at::Tensor;

struct OptimizerCase {
  std::string name;
  double momentum = 0;
};
void PrintTo(const OptimizerCase& one, std::ostream* out) { *out << one.name; }

// Parameters and their optimizer on one side.
struct Side {
  NamedParameters parameters;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

class OptimizersOnDevice : public ::testing::TestWithParam<OptimizerCase> {
 protected:
  [[nodiscard]] static Side begin() {
    at::manual_seed(1);
    Side side;
    side.parameters = {{"dense.weight", at::randn({201, 203}).t().requires_grad_(true)},
                       {"zeros.weight", at::zeros({3, 4}).requires_grad_(true)},
                       {"dense.bias", at::randn({5}).requires_grad_(true)}};
    return side;
  }
  static void add_optimizer(Side& side) {
    RunSettings options;
    options.optimizer = GetParam().name;
    options.momentum = GetParam().momentum;
    options.weight_decay = 0.1;
    side.optimizer = make_optimizer(side.parameters, options);
    set_learning_rate(*side.optimizer, 0.01);
  }
  [[nodiscard]] static Side on_cpu() {
    Side side = begin();
    add_optimizer(side);
    return side;
  }
  [[nodiscard]] static Side on_the_device() {
    Side side = begin();
    for (auto& [name, parameter] : side.parameters) {
      parameter = on_device(parameter.detach()).requires_grad_(true);
    }
    add_optimizer(side);
    return side;
  }
  static void make_step(const Side& side, std::uint64_t number) {
    at::manual_seed(100 + number);
    for (const auto& [name, parameter] : side.parameters) {
      parameter.mutable_grad() = at::randn(parameter.sizes()).to(parameter.device());
    }
    side.optimizer->step();
  }
  static void expect_same(const Side& device, const Side& host) {
    for (std::size_t i = 0; i < host.parameters.size(); ++i) {
      const Tensor& got = device.parameters[i].second;
      const Tensor& right = host.parameters[i].second;
      expect_near(got.detach(), right.detach());
      const ParameterState state = state_of(*device.optimizer).state_of(got);
      const ParameterState expected = state_of(*host.optimizer).state_of(right);
      EXPECT_EQ(state.step, expected.step);
      ASSERT_EQ(state.moments.size(), expected.moments.size());
      for (std::size_t m = 0; m < state.moments.size(); ++m) {
        expect_near(state.moments[m], expected.moments[m]);
      }
    }
  }
  // Gives `to` the parameters and, as another rank gets it, the optimizer's state.
  static void send(const Side& from, const Side& to) {
    for (std::size_t i = 0; i < from.parameters.size(); ++i) {
      to.parameters[i].second.detach().copy_(from.parameters[i].second.detach());
    }
    torch::serialize::OutputArchive out;
    from.optimizer->save(out);
    std::stringstream bytes;
    out.save_to(bytes);
    torch::serialize::InputArchive in;
    in.load_from(bytes);
    to.optimizer->state().clear();
    to.optimizer->load(in);
  }
};

// docs/acceptance.md, Devices: Every optimizer and every extra loss makes the same steps on a
// device.
TEST_P(OptimizersOnDevice, MakeTheSameStepsAsOnTheCpu) {
  const Side host = on_cpu();
  const Side device = on_the_device();
  for (std::uint64_t step = 0; step < 4; ++step) {
    make_step(host, step);
    make_step(device, step);
  }
  expect_same(device, host);
}

// docs/acceptance.md, Devices: A checkpoint of a GPU resumes on a CPU, and the other way round.
TEST_P(OptimizersOnDevice, TakeStateOfTheCpuAndGiveIt) {
  const Side first = on_cpu();
  make_step(first, 0);
  const Side device = on_the_device();
  send(first, device);
  make_step(first, 1);
  make_step(device, 1);
  expect_same(device, first);
  const Side last = on_cpu();
  send(device, last);
  make_step(device, 2);
  make_step(last, 2);
  expect_same(device, last);
}

INSTANTIATE_TEST_SUITE_P(All,
                         OptimizersOnDevice,
                         ::testing::Values(OptimizerCase{"adamw"},
                                           OptimizerCase{"adam"},
                                           OptimizerCase{"sgd"},
                                           OptimizerCase{"sgd", 0.9},
                                           OptimizerCase{"adadelta"},
                                           OptimizerCase{"lion"},
                                           OptimizerCase{"lamb"}),
                         [](const auto& one) {
                           return one.param.name + (one.param.momentum > 0 ? "_momentum" : "");
                         });

}  // namespace
}  // namespace bp::trainer
