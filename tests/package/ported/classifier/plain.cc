// A convolutional network that finds the bright quarter of a small noisy image.
#include <torch/torch.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

constexpr int64_t kTrainRows = 200;
constexpr int64_t kTestRows = 100;
constexpr int64_t kBatch = 32;
constexpr int kEpochs = 4;

// Each row depends on its number alone.
struct Quarters : torch::data::datasets::Dataset<Quarters> {
  Quarters(int64_t first, int64_t count) : first(first), count(count) {}

  torch::data::Example<> get(size_t index) override {
    const int64_t number = first + static_cast<int64_t>(index);
    auto generator = at::make_generator<at::CPUGeneratorImpl>(number);
    auto image = torch::randn({1, 8, 8}, generator);
    const int64_t quarter = number * 7 % 4;
    image.narrow(1, quarter / 2 * 4, 4).narrow(2, quarter % 2 * 4, 4).add_(0.7);
    return {image, torch::tensor(quarter)};
  }

  std::optional<size_t> size() const override { return count; }

  int64_t first;
  int64_t count;
};

struct Net : torch::nn::Module {
  Net()
      : conv(torch::nn::Conv2dOptions(1, 8, 3).padding(1)),
        norm(8, 8),
        hidden(128, 16),
        out(16, 4) {
    register_module("conv", conv);
    register_module("norm", norm);
    register_module("hidden", hidden);
    register_module("out", out);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(norm(conv(x))), 2);
    x = torch::relu(hidden(x.flatten(1)));
    return torch::log_softmax(out(x), 1);
  }

  torch::nn::Conv2d conv;
  torch::nn::GroupNorm norm;
  torch::nn::Linear hidden;
  torch::nn::Linear out;
};

int main() {
  torch::manual_seed(1);
  Net model;

  auto train_set = Quarters(0, kTrainRows).map(torch::data::transforms::Stack<>());
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(train_set), kBatch);
  auto test_set = Quarters(kTrainRows, kTestRows).map(torch::data::transforms::Stack<>());
  auto test_loader = torch::data::make_data_loader(std::move(test_set), kTestRows);

  const auto settings = torch::optim::AdamWOptions(0.01);
  torch::optim::AdamW optimizer(model.parameters(), settings);

  double last_loss = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    model.train();
    size_t step = 0;
    for (auto& batch : *train_loader) {
      optimizer.zero_grad();
      auto loss = torch::nll_loss(model.forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      last_loss = loss.item<double>();
      ++step;
    }
  }

  torch::NoGradGuard no_grad;
  model.eval();
  int64_t correct = 0;
  for (auto& batch : *test_loader) {
    correct += model.forward(batch.data).argmax(1).eq(batch.target).sum().item<int64_t>();
  }
  std::printf("classifier: loss %.6f, weights %.6f, %ld of %ld right\n", last_loss,
              model.hidden->weight.abs().sum().item<double>(), correct, kTestRows);
}
