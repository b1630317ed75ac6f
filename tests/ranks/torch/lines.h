// Vectors whose gradients are known, with SGD, for what rounds make of them.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/torch_model.h"

namespace bp::test {

struct Lines {
  static constexpr double kRate = 0.05;
  static constexpr int kElements = 6;

  // In a step, for a rank's element i of vector `line`.
  static double gradient(int rank, int step, int line, int i) {
    return std::sin(1.0 + 3 * rank + step + 0.7 * i + 0.4 * line);
  }
  static double first(int line, int i) { return 0.3 * i - 0.5 + 0.1 * line; }

  Lines(Communicator& world, const Sync& sync, int count = 1) {
    NamedTensors named;
    for (int line = 0; line < count; ++line) {
      std::vector<double> values;
      for (int i = 0; i < kElements; ++i) values.push_back(first(line, i));
      all.push_back(at::tensor(values, at::kFloat).requires_grad_());
      named.emplace_back("x" + std::to_string(line), all.back());
    }
    optimizer = std::make_unique<DistributedOptimizer>(
        world, named, make_optimizer("sgd", all, kRate), DistributedOptimizerOptions{.sync = sync});
  }

  void step(int rank, int number, double weight) {
    at::Tensor loss = at::zeros({});
    for (std::size_t line = 0; line < all.size(); ++line) {
      std::vector<double> g;
      for (int i = 0; i < kElements; ++i) {
        g.push_back(gradient(rank, number, static_cast<int>(line), i));
      }
      loss = loss + (all[line] * at::tensor(g, at::kFloat)).sum();
    }
    optimizer->backward(loss, weight);
    optimizer->step();
  }

  std::vector<at::Tensor> all;
  std::unique_ptr<DistributedOptimizer> optimizer;
};

}  // namespace bp::test
