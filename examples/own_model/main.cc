// All ranks together train a LibTorch model that this file defines:
//
//   ./own_model                                  one rank
//   bprun -H localhost:3,127.0.0.1:1 own_model   four ranks on two (logical) hosts
//
// It learns the product of two numbers, and ends with status 1 if it fails to. A step uses 2 x 32
// rows on any number of ranks, and its loss and gradient are those of all these rows. So only the
// last digits of sums depend on the ranks.
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/rand.h>
#include <bp/collective.h>
#include <bp/communicator.h>
#include <bp/torch/distributed_optimizer.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

int main() {
  bp::Communicator world = bp::Communicator::create();
  at::manual_seed(1);  // all ranks draw the same data, and each uses its own rows

  torch::nn::Sequential model(torch::nn::Linear(2, 32), torch::nn::Tanh(),
                              torch::nn::Linear(32, 1));
  auto adamw =
      std::make_unique<torch::optim::AdamW>(model->parameters(), torch::optim::AdamWOptions(0.02));
  bp::DistributedOptimizer optimizer(world, model->named_parameters().pairs(), std::move(adamw),
                                     {.micro_batches = 2});
  optimizer.broadcast_parameters();

  double loss = 0;
  for (int step = 0; step < 300; ++step) {
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
      const at::Tensor all = at::rand({32, 2}).mul(2).sub(1);
      const bp::Block mine = bp::block_of(32, world.size(), world.rank());
      const at::Tensor x = all.narrow(0, static_cast<std::int64_t>(mine.offset),
                                      static_cast<std::int64_t>(mine.count));
      optimizer.backward(at::mse_loss(model->forward(x), x.prod(1, true)),
                         static_cast<double>(mine.count));
    }
    optimizer.clip_grad_norm(1.0);
    optimizer.step();
    loss = optimizer.window().loss;  // the mean over all ranks' rows
  }
  if (world.rank() == 0) {
    std::printf("world of %d, %.0f rows a step: mean squared error %.6f\n", world.size(),
                optimizer.window().weight, loss);
  }
  world.finish();
  return loss < 0.01 ? 0 : 1;
}
