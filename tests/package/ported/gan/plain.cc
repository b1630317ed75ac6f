// Two networks with an optimizer each. The generator learns to draw points of a shifted, stretched
// cloud, and the discriminator learns to distinguish them from real ones.
#include <torch/torch.h>

#include <cstdio>
#include <memory>

constexpr int64_t kBatch = 48;
constexpr int64_t kNoise = 4;
constexpr int kSteps = 150;

torch::Tensor draw_real() { return torch::randn({kBatch, 2}) * 0.5 + 2; }

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential generator(torch::nn::Linear(kNoise, 16), torch::nn::Tanh(),
                                  torch::nn::Linear(16, 2));
  torch::nn::Sequential discriminator(torch::nn::Linear(2, 16), torch::nn::LeakyReLU(),
                                      torch::nn::Linear(16, 1), torch::nn::Sigmoid());

  const auto settings = torch::optim::AdamOptions(5e-3).betas({0.5, 0.9});
  torch::optim::Adam g_optimizer(generator->parameters(), settings);
  torch::optim::Adam d_optimizer(discriminator->parameters(), settings);

  torch::Tensor generated;
  for (int step = 0; step < kSteps; ++step) {
    // The discriminator learns from real points ...
    d_optimizer.zero_grad();
    auto real = draw_real();
    auto real_labels = torch::full({real.size(0), 1}, 0.9);
    auto real_loss = torch::binary_cross_entropy(discriminator->forward(real), real_labels);
    real_loss.backward();

    // ... and from generated ones.
    auto noise = torch::randn({kBatch, kNoise});
    generated = generator->forward(noise);
    auto labels = torch::zeros({generated.size(0), 1});
    auto output = discriminator->forward(generated.detach());
    auto generated_loss = torch::binary_cross_entropy(output, labels);
    generated_loss.backward();
    d_optimizer.step();

    // The generator learns from the new output of the discriminator for these points.
    g_optimizer.zero_grad();
    labels.fill_(1);
    auto generator_loss = torch::binary_cross_entropy(discriminator->forward(generated), labels);
    generator_loss.backward();
    g_optimizer.step();
  }

  torch::NoGradGuard no_grad;
  const auto drawn = generator->forward(torch::randn({1000, kNoise}));
  std::printf("gan: mean %.6f %.6f, deviation %.6f\n", drawn.mean(0)[0].item<double>(),
              drawn.mean(0)[1].item<double>(), drawn.std().item<double>());
}
