// How much of the communication of a step is hidden behind backward: a made-up model whose layers
// take 50 ms each to go back through, and a link on which a bucket takes 10 ms.
//
//   overlap_bench [LAYERS]
//
// Prints backward alone, the step, and what the step may take: backward, the last bucket, and a
// fifth of the other buckets' time. Ends with 1 where it takes longer.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kBackward = 50ms;  // of a layer
constexpr auto kMessage = 10ms;   // of a bucket: between two ranks each sends one
constexpr int kSteps = 5;

// One parameter a layer, each as large as a bucket.
struct Model {
  explicit Model(int layers) {
    for (int i = 0; i < layers; ++i) {
      weights.emplace_back("layer" + std::to_string(i), at::zeros({1024}).requires_grad_());
    }
  }
  [[nodiscard]] at::Tensor loss() const {
    at::Tensor x = at::zeros({1024});
    for (const auto& [name, weight] : weights) {
      x = x + weight;
      x.register_hook([](const at::Tensor& gradient) {
        std::this_thread::sleep_for(kBackward);
        return gradient;
      });
    }
    return x.sum();
  }
  NamedTensors weights;
};

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double time_backward(const Model& model) {
  const at::Tensor loss = model.loss();
  const auto begin = Clock::now();
  loss.backward();
  return milliseconds(Clock::now() - begin);
}

struct Times {
  double backward = 0;
  double step = 0;
  std::size_t buckets = 0;
};

Times measure(Communicator& world, int layers) {
  const Model model(layers);
  std::vector<at::Tensor> tensors;
  for (const auto& [name, weight] : model.weights) tensors.push_back(weight);
  const double alone = time_backward(model);
  DistributedOptimizer optimizer(
      world, model.weights,
      std::make_unique<torch::optim::SGD>(tensors, torch::optim::SGDOptions(0.1)),
      {.first_bucket_bytes = 4096, .bucket_bytes = 4096, .nominal_weight = 2});
  std::vector<double> steps;
  for (int i = 0; i < kSteps; ++i) {
    const at::Tensor loss = model.loss();
    const auto begin = Clock::now();
    optimizer.backward(loss, 1);
    optimizer.step();
    steps.push_back(milliseconds(Clock::now() - begin));
  }
  return {alone, median(steps), optimizer.bucket_count()};
}

int run(int layers) {
  Times times;
  const auto ends = test::try_ranks(
      2,
      [&](Communicator& world) {
        const Times mine = measure(world, layers);
        if (world.rank() == 0) times = mine;
      },
      {.communicator = {.algorithm = "recursive_doubling"},
       .fault = [](int) { return Fault{.kind = Fault::Kind::slow, .delay = kMessage}; },
       .segments = {}});
  for (const std::string& end : ends) {
    if (!end.empty()) {
      std::fprintf(stderr, "overlap_bench: %s\n", end.c_str());
      return 70;
    }
  }
  const double bucket = milliseconds(kMessage);
  const auto others = static_cast<double>(times.buckets - 1);
  const double bound = times.backward + bucket + 0.2 * bucket * others;
  std::printf(
      "layers %d, buckets %zu: backward %.1f ms, step %.1f ms, bound %.1f ms; hidden %.0f %%\n",
      layers, times.buckets, times.backward, times.step, bound,
      100 * (1 - (times.step - times.backward) / (bucket * (others + 1))));
  return times.step <= bound ? 0 : 1;
}

}  // namespace
}  // namespace bp

int main(int count, char** arguments) {
  const int layers = count > 1 ? std::atoi(arguments[1]) : 8;
  if (layers < 1) {
    std::fprintf(stderr, "overlap_bench: '%s' is no number of layers\n", arguments[1]);
    return 2;
  }
  return bp::run(layers);
}
