// Measures attention, forward and backward, in three ways: bp's fused one, bp's by products of
// padded matrices in memory (oneDNN's and MKL's), and LibTorch's scaled_dot_product_attention,
// which pads, too. All begin and end with the rows of tokens, [tokens, 3 * hidden]. For each type,
// head size and length it prints the median times of as many calls as fit into a fifth of a second.
// The first two must agree with the third, without dropout, which LibTorch's CPU kernel lacks.
// `mixed`: samples of 4 to 48 tokens, as sentences of SST-2 have them.
//
//   attention_bench [TOKENS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/training.h"
#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr std::int64_t kHidden = 768;
constexpr int kMixed = 0;  // instead of a length

std::vector<std::int32_t> lengths_of(int length, int tokens) {
  std::vector<std::int32_t> lengths;
  for (int sum = 0, i = 0; sum < tokens; ++i) {
    lengths.push_back(length == kMixed ? 4 + i * 29 % 45 : length);
    sum += lengths.back();
  }
  return lengths;
}

struct Result {
  Tensor y;
  Tensor d_qkv;
  double microseconds = 0;
};

template <class Forward>
Result measure(const Tensor& qkv, const Tensor& dy, const Forward& forward) {
  using Clock = std::chrono::steady_clock;
  Result result;
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::milliseconds(200);
  while (times.size() < 7 || Clock::now() < end) {
    const auto begin = Clock::now();
    result.y = forward(qkv);
    result.d_qkv = torch::autograd::grad({result.y}, {qkv}, {dy})[0];
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  result.microseconds = median(times);
  return result;
}

// Each sample's rows are copied to a padded batch and back by one index.
Tensor by_libtorch(
    const Layout& layout, const Tensor& places, const Tensor& mask, int heads, const Tensor& qkv) {
  const std::int64_t longest = mask.size(3);
  Tensor padded = at::zeros({layout.rows * longest, qkv.size(1)}, qkv.options());
  padded = padded.index_copy(0, places, qkv);
  const Tensor parts = padded.view({layout.rows, longest, 3, heads, -1}).permute({2, 0, 3, 1, 4});
  const bool full = places.numel() == layout.rows * longest;
  const Tensor y = at::scaled_dot_product_attention(
      parts[0], parts[1], parts[2], full ? std::optional<Tensor>() : std::optional<Tensor>(mask));
  return y.transpose(1, 2).reshape({layout.rows * longest, -1}).index_select(0, places);
}

void require_near(const Tensor& a, const Tensor& b, const char* what) {
  const double difference = (a - b).abs().max().item<double>();
  const double size = b.abs().max().item<double>();
  const double bound = a.scalar_type() == at::kFloat ? 1e-4 : 4e-2;
  if (!(difference <= bound * size)) {
    throw std::runtime_error(concat(what, " differs by ", difference, " of ", size));
  }
}

void compare(at::ScalarType type, int head_size, int length, int tokens) {
  const std::vector<std::int32_t> lengths = lengths_of(length, tokens);
  const std::vector<std::int64_t> samples(lengths.size());
  const auto layout = std::make_shared<const Layout>(make_layout(lengths, samples, 1));
  const int heads = static_cast<int>(kHidden / head_size);
  at::manual_seed(1);
  const Tensor qkv = at::randn({layout->tokens, 3 * kHidden}).to(type).requires_grad_(true);
  const Tensor dy = at::randn({layout->tokens, kHidden}).to(type);
  const Tensor bias = at::zeros({3 * kHidden});
  const std::int64_t longest = *std::ranges::max_element(lengths);
  std::vector<std::int64_t> places;
  Tensor mask = at::zeros({layout->rows, 1, 1, longest}, at::kBool);
  for (int row = 0; row < layout->rows; ++row) {
    mask[row].slice(2, 0, layout->length(row)).fill_(true);
    for (int place = 0; place < layout->length(row); ++place) {
      places.push_back(row * longest + place);
    }
  }
  const Tensor index = at::tensor(places);
  const auto ours = [&](AttentionWay way) {
    return measure(qkv, dy, [&](const Tensor& x) {
      return attention(layout, x, bias, {.count = heads, .size = head_size}, {}, {}, way);
    });
  };
  const Result peer = measure(
      qkv, dy, [&](const Tensor& x) { return by_libtorch(*layout, index, mask, heads, x); });
  const Result fused = ours(AttentionWay::fused);
  const Result padded = ours(AttentionWay::padded);
  const Result chosen = ours(AttentionWay::faster);
  for (const Result* own : {&fused, &padded}) {
    require_near(own->y, peer.y, "the result");
    require_near(own->d_qkv, peer.d_qkv, "the gradient");
  }
  std::printf("%-5s %9d %7s %10.0f %10.0f %10.0f %10.0f %8.2f\n",
              type == at::kFloat ? "fp32" : "bf16", head_size,
              length == kMixed ? "mixed" : std::to_string(length).c_str(), fused.microseconds,
              padded.microseconds, peer.microseconds, chosen.microseconds,
              chosen.microseconds / peer.microseconds);
  std::fflush(stdout);
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  const int tokens = argc > 1 ? std::atoi(argv[1]) : 1024;
  if (argc > 2 || tokens < 1) {
    std::fprintf(stderr, "usage: attention_bench [TOKENS]\n");
    return 2;
  }
  bp::trainer::keep_large_blocks();
  try {
    std::printf("hidden %d, %d tokens, %d threads; microseconds of forward and backward\n",
                static_cast<int>(bp::trainer::kHidden), tokens, at::get_num_threads());
    std::printf(
        "type  head size  length      fused     padded   LibTorch     chosen  / LibTorch\n");
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      for (const int head_size : {32, 64}) {
        for (const int length : {bp::trainer::kMixed, 16, 32, 64, 128, 256, 512}) {
          bp::trainer::compare(type, head_size, length, tokens);
        }
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_bench: %s\n", error.what());
    return 70;
  }
}
