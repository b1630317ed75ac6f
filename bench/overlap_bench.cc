// Measures how much of the communication of a step runs during backward, with an artificial model
// whose backward takes 50 ms per layer and a link on which a bucket takes 10 ms.
//
//   overlap_bench [LAYERS]       at least 2 (default: 8)
//
// Prints the times of backward alone, of a bucket's all-reduce alone and of the step, and the time
// that the step may take: backward, the last bucket, and a fifth of the other buckets. Exits with 1
// if it takes longer. The two ranks are threads of this process, so it runs without bprun.
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

#include "bp/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kBackward = 50ms;  // per layer
constexpr auto kMessage = 10ms;   // per bucket, for which each of two ranks sends one message
constexpr int kElements = 1024;   // per layer, which fill a bucket
constexpr std::size_t kBytes = kElements * sizeof(float);
constexpr int kRuns = 5;

// Each layer has one parameter, as large as a bucket.
struct Model {
  explicit Model(int layers) {
    for (int i = 0; i < layers; ++i) {
      weights.emplace_back("layer" + std::to_string(i), at::zeros({kElements}).requires_grad_());
    }
  }
  [[nodiscard]] at::Tensor loss() const {
    at::Tensor x = at::zeros({kElements});
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

// Returns the median time of kRuns calls in milliseconds, after one call to warm up.
template <class Action>
double time(const Action& action) {
  action();
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const auto begin = Clock::now();
    action();
    times.push_back(milliseconds(Clock::now() - begin));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

struct Times {
  double backward = 0;  // backward alone
  double bucket = 0;    // the all-reduce of a bucket alone
  double step = 0;      // backward, all-reduces and a step of SGD
  std::size_t buckets = 0;
};

Times measure(Communicator& world, int layers) {
  Times times;
  const Model model(layers);
  std::vector<at::Tensor> tensors;
  for (const auto& [name, weight] : model.weights) tensors.push_back(weight);
  times.backward = time([&] { model.loss().backward(); });
  std::vector<float> bucket(kElements);
  times.bucket = time([&] { all_reduce(world, view(bucket), {.name = "a bucket"}); });
  for (at::Tensor& tensor : tensors) tensor.mutable_grad().reset();
  DistributedOptimizer optimizer(
      world, model.weights,
      std::make_unique<torch::optim::SGD>(tensors, torch::optim::SGDOptions(0.1)),
      {.first_bucket_bytes = kBytes, .bucket_bytes = kBytes, .nominal_weight = 2});
  times.step = time([&] {
    optimizer.backward(model.loss(), 1);
    optimizer.step();
  });
  times.buckets = optimizer.bucket_count();
  return times;
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
  const double allowed = times.backward + bucket + 0.2 * bucket * others;
  std::printf(
      "overlap: %d layers, %zu buckets: backward %.1f ms, a bucket %.1f ms, step %.1f ms (allowed: "
      "%.1f ms); not hidden: %.1f %% of the buckets before the last (target: 20 %%)\n",
      layers, times.buckets, times.backward, times.bucket, times.step, allowed,
      100 * (times.step - times.backward - bucket) / (bucket * others));
  if (times.step <= allowed) return 0;
  std::fprintf(stderr, "overlap_bench: the step took %.1f ms, allowed are %.1f ms\n", times.step,
               allowed);
  return 1;
}

}  // namespace
}  // namespace bp

int main(int count, char** arguments) {
  const int layers = count > 1 ? std::atoi(arguments[1]) : 8;
  if (layers < 2) {  // with one bucket no communication can run during backward
    std::fprintf(stderr, "overlap_bench: '%s' is not a number of at least 2 layers\n",
                 arguments[1]);
    return 2;
  }
  return bp::run(layers);
}
