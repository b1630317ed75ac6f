// Measures what DistributedOptimizer adds to a training step. Two models of MiniLM-L6's shape are
// trained alternately, step by step: one by AdamW alone, the other by the same AdamW inside a
// DistributedOptimizer. Prints the median of the ratios of the pairs, because what disturbs the
// machine for a while disturbs both steps of a pair. Under bprun the second model's ranks exchange
// gradients, and rank 0 prints.
//
//   step_bench [STEPS]
//   bprun -n 2 step_bench [STEPS]
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "bench/training.h"
#include "bp/communicator.h"
#include "bp/torch/distributed_optimizer.h"
#include "trainer/model/bert.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

constexpr int kWarmUps = 3;

// The one in which a step takes less time here.
Precision precision() {
  return bf16_products() == Bf16Products::native ? Precision::bf16 : Precision::fp32;
}

class Plain {
 public:
  Plain() : optimizer_(adamw_of(model_)) {}
  void step(const Batch& batch, const TrainingStep& number) {
    optimizer_->zero_grad();
    model_.loss(model_.forward(batch, &number), batch).mean.backward();
    optimizer_->step();
    model_.parameters_changed();
  }

 private:
  Bert model_{minilm(), make_classifier_head, precision(), 1};
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

class Distributed {
 public:
  explicit Distributed(Communicator& world)
      : optimizer_(world, model_.parameters(), adamw_of(model_)) {}
  void step(const Batch& batch, const TrainingStep& number) {
    const Loss loss = model_.loss(model_.forward(batch, &number), batch);
    optimizer_.backward(loss.mean, loss.weight);
    optimizer_.step();
    model_.parameters_changed();
  }

 private:
  Bert model_{minilm(), make_classifier_head, precision(), 1};
  DistributedOptimizer optimizer_;
};

template <class Trained>
double milliseconds(Trained& trained, const Batch& batch, const TrainingStep& number) {
  const auto begin = std::chrono::steady_clock::now();
  trained.step(batch, number);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

void run(int steps) {
  Communicator world = Communicator::create();
  Plain plain;
  Distributed distributed(world);
  const Batch batch = make_batch(32);
  std::vector<double> alone;
  std::vector<double> wrapped;
  std::vector<double> quotients;
  for (int i = -kWarmUps; i < steps; ++i) {
    const TrainingStep number{.seed = 1, .number = static_cast<std::uint64_t>(i + kWarmUps)};
    // The second of a pair finds other data in the caches, so the order alternates.
    double a = 0;
    if (i % 2 == 0) a = milliseconds(plain, batch, number);
    const double b = milliseconds(distributed, batch, number);
    if (i % 2 != 0) a = milliseconds(plain, batch, number);
    if (i < 0) continue;
    alone.push_back(a);
    wrapped.push_back(b);
    quotients.push_back(b / a);
  }
  if (world.rank() == 0) {
    std::printf(
        "step of %d ranks in %s: %.2f ms alone, %.2f ms in DistributedOptimizer, %d steps in "
        "turns: %+.2f %%\n",
        world.size(), std::string(name_of(precision())).c_str(), median(alone), median(wrapped),
        steps, 100 * (median(quotients) - 1));
  }
  world.finish();
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  try {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
    if (argc > 2 || steps < 1) {
      std::fprintf(stderr, "usage: step_bench [STEPS]\n");
      return 2;
    }
    bp::trainer::keep_large_blocks();
    bp::trainer::run(steps);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
