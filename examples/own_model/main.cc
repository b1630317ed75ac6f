// A LibTorch model of one's own, trained by all ranks together:
//
//   ./own_model                                  one rank
//   bprun -H localhost:3,127.0.0.1:1 own_model   four ranks on two (logical) hosts
//
// It learns the product of two numbers and ends with status 1 if it has not.
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/rand.h>
#include <bp/communicator.h>
#include <bp/torch/distributed_optimizer.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <cstdio>
#include <memory>

int main() {
  bp::Communicator world = bp::Communicator::create();
  at::manual_seed(static_cast<std::uint64_t>(world.rank()));  // every rank has its own data

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
      const std::int64_t rows = 8 * (world.rank() + 1);  // as many as this machine can take
      const at::Tensor x = at::rand({rows, 2}).mul(2).sub(1);
      optimizer.backward(at::mse_loss(model->forward(x), x.prod(1, true)),
                         static_cast<double>(rows));
    }
    optimizer.clip_grad_norm(1.0);
    optimizer.step();
    loss = optimizer.window().loss;  // the mean over all ranks' rows
  }
  if (world.rank() == 0) {
    std::printf("world of %d, %.0f rows a step: mean squared error %.4f\n", world.size(),
                optimizer.window().weight, loss);
  }
  world.finish();
  return loss < 0.01 ? 0 : 1;
}
