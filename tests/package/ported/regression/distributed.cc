// Fits a linear model of four features to a polynomial, on batches drawn until the loss is small.
#include <bp/torch/torch.h>
#include <torch/torch.h>

#include <cstdio>
#include <memory>

constexpr int64_t kBatch = 50;

// x, x^2, x^3, x^4
torch::Tensor features(const torch::Tensor& x) {
  return torch::stack({x, x.square(), x.pow(3), x.pow(4)}, 1);
}

int main() {
  bp::Communicator world = bp::Communicator::create();
  torch::manual_seed(1);
  const auto wanted = torch::tensor({{1.5F}, {-2.0F}, {0.5F}, {0.25F}});
  torch::nn::Linear model(4, 1);
  auto optimizer = bp::make_distributed<torch::optim::SGD>(world, *model, 0.05);

  int steps = 0;
  for (double value = 1; value > 1e-4 && steps < 5000; ++steps) {
    auto x = features(bp::own_rows(world, torch::rand(kBatch) * 2 - 1));
    auto y = x.mm(wanted) + 3;
    optimizer.zero_grad();
    auto loss = torch::mse_loss(model(x), y);
    optimizer.backward(loss, x.size(0));
    optimizer.step();
    value = optimizer.window().loss;
  }
  std::printf("regression: %d steps, bias %.6f, weights %.6f %.6f %.6f %.6f\n", steps,
              model->bias.item<double>(), model->weight[0][0].item<double>(),
              model->weight[0][1].item<double>(), model->weight[0][2].item<double>(),
              model->weight[0][3].item<double>());
  world.finish();
}
