// A rank with a small model and a DistributedOptimizer with four buckets.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <memory>
#include <string>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/torch_model.h"

namespace bp {

inline constexpr std::size_t kSmall = 256;  // bytes; gives four buckets for the Mlp

struct WindowRank {
  explicit WindowRank(Communicator& comm,
                      DistributedOptimizerOptions options = {},
                      at::ScalarType type = at::kFloat,
                      const std::string& kind = "sgd")
      : world(comm), model(1, type) {
    options.first_bucket_bytes = kSmall;
    options.bucket_bytes = 4 * kSmall;
    optimizer = std::make_unique<DistributedOptimizer>(
        world, model.named_parameters(), test::make_optimizer(kind, model.parameters(), 0.1),
        options);
  }
  void backward(const test::Rows& rows) { optimizer->backward(model.loss(rows), rows.weight()); }
  Communicator& world;
  test::Mlp model;
  std::unique_ptr<DistributedOptimizer> optimizer;
};

}  // namespace bp
