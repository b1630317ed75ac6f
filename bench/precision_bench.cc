// Measures a training step in bf16 beside one in fp32, by one rank. Two models of the same shape
// and weights are trained alternately, step by step. Prints for each shape and number of threads
// the median times and the median of the ratios of the pairs, because what disturbs the machine for
// a while disturbs both steps of a pair. On a busy machine, processor time is disturbed less than
// time, so it also prints the ratio of that. In each step the losses of both must agree to within
// the rounding of bf16, and a second model in bf16 must compute the same bits.
//
//   precision_bench [STEPS [TOKENS]]
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/training.h"
#include "trainer/model/bert.h"
#include "trainer/model/passes/precision.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

constexpr int kWarmUps = 3;
constexpr int kTokensOfSample = 32;
constexpr double kRounding = 0x1p-8;  // the most by which bf16 changes a number, as a share of it

// The times of steps, in milliseconds.
struct Times {
  std::vector<double> all;
  std::vector<double> of_processors;
};

double processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

struct Shape {
  const char* name = "";
  EncoderSpec config;
};

class Trained {
 public:
  Trained(const EncoderSpec& config, Precision precision)
      : model_(config, make_classifier_head, precision, 1), optimizer_(adamw_of(model_)) {}

  // Returns the loss, and adds the time of the step to `times`.
  double step(const Batch& batch, std::uint64_t number, Times& times) {
    const double processor_begin = processor_time();
    const auto begin = std::chrono::steady_clock::now();
    const TrainingStep step{.seed = 1, .number = number};
    optimizer_->zero_grad();
    const at::Tensor loss = model_.loss(model_.forward(batch, &step), batch).mean;
    loss.backward();
    optimizer_->step();
    model_.parameters_changed();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    times.all.push_back(time.count());
    times.of_processors.push_back(processor_time() - processor_begin);
    return loss.item<double>();
  }

 private:
  Bert model_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

void require_same(double a, double b, const char* what) {
  if (a != b) throw std::runtime_error(concat(what, ": a loss of ", a, " and then one of ", b));
}

double median_ratio(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  return median(ratios);
}

void compare(const Shape& shape, int threads, int steps, int tokens) {
  at::set_num_threads(threads);
  Trained wide(shape.config, Precision::fp32);
  Trained narrow(shape.config, Precision::bf16);
  Trained again(shape.config, Precision::bf16);
  const Batch batch = make_batch(tokens / kTokensOfSample);
  Times wide_times;
  Times narrow_times;
  Times ignored;
  for (int i = -kWarmUps; i < steps; ++i) {
    const auto number = static_cast<std::uint64_t>(std::int64_t{i} + kWarmUps);
    double wide_loss = 0;
    // The second of a pair finds other data in the caches, so the order alternates.
    if (i % 2 == 0) wide_loss = wide.step(batch, number, wide_times);
    const double loss = narrow.step(batch, number, narrow_times);
    if (i % 2 != 0) wide_loss = wide.step(batch, number, wide_times);
    if (std::abs(loss - wide_loss) > 4 * kRounding * wide_loss) {
      throw std::runtime_error(
          concat(shape.name, ": the loss is ", wide_loss, " in fp32 and ", loss, " in bf16"));
    }
    if (i < 0) {
      require_same(loss, again.step(batch, number, ignored), shape.name);
      wide_times = {};
      narrow_times = {};
    }
  }
  std::printf(
      "%s, %d tokens, %d thread%s: fp32 %.2f ms, bf16 %.2f ms, bf16 / fp32 %.2f, of processor time "
      "%.2f\n",
      shape.name, tokens, threads, threads == 1 ? "" : "s", median(wide_times.all),
      median(narrow_times.all), median_ratio(narrow_times.all, wide_times.all),
      median_ratio(narrow_times.of_processors, wide_times.of_processors));
  std::fflush(stdout);
}

void run(int steps, int tokens) {
  std::printf("bf16: %s\n", std::string(description_of(bf16_products())).c_str());
  EncoderSpec tiny = preset("tiny").value();
  tiny.head = minilm().head;
  for (const Shape& shape : {Shape{"tiny", tiny}, Shape{"MiniLM-L6", minilm()}}) {
    for (const int threads : {1, 2}) compare(shape, threads, steps, tokens);
  }
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  try {
    const int steps = argc > 1 ? std::atoi(argv[1]) : 30;
    const int tokens = argc > 2 ? std::atoi(argv[2]) : 1024;
    if (argc > 3 || steps < 1 || tokens < 32) {
      std::fprintf(stderr, "usage: precision_bench [STEPS [TOKENS]]\n");
      return 2;
    }
    bp::trainer::keep_large_blocks();
    bp::trainer::run(steps, tokens);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "precision_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
