// The passes on a device must compute what those on the host do, and drop the same elements. On a
// machine with a GPU this runs there (BP_TEST_ON_GPU), elsewhere on the fake device.
// docs/acceptance.md, Devices: What lies between two matrix products is the same on a device, and
// dropout drops the same elements.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/fake_torch_device/use.h"
#include "tests/support/model_kernels_on_host/use.h"
#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/passes.h"

namespace bp::trainer {
namespace {

using at::Tensor;

const std::vector<std::int32_t> kLengths = {5, 1, 16, 9, 2};

// The same batch on the host and on the device. The host's has no rows that belong to no sample.
class Batches {
 public:
  explicit Batches(int longest = 0) : on_host(make(longest)), on_device(on_host) {
    on_device.on_device = make_device_layout(on_device, test::torch_device());
  }
  Layout on_host;
  Layout on_device;

 private:
  static Layout make(int longest) {
    std::vector<std::int32_t> lengths = kLengths;
    if (longest > 0) lengths.push_back(longest);
    std::vector<std::int64_t> samples;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      samples.push_back(static_cast<std::int64_t>(1000 + 7 * i));
    }
    return make_layout(lengths, samples, 1);
  }
};

Tensor random(at::IntArrayRef sizes, at::ScalarType number = at::kFloat) {
  return at::randn(sizes, at::kFloat).to(number);
}
Tensor there(const Tensor& x) { return x.defined() ? x.to(test::torch_device()) : x; }

// All numbers of `got` must be those of `right`, up to roundings to `number`.
void expect_close(const Tensor& got,
                  const Tensor& right,
                  const std::string& what,
                  at::ScalarType number) {
  ASSERT_TRUE(got.defined()) << what;
  const double step = number == at::kFloat      ? 1e-5
                      : number == at::kBFloat16 ? 1.0 / 128
                                                : 1.0 / 1024;
  const Tensor mine = got.cpu().to(at::kDouble);
  const Tensor other = right.to(at::kDouble);
  ASSERT_EQ(mine.sizes(), other.sizes()) << what;
  const double limit = step * std::max(1.0, other.abs().max().item<double>());
  EXPECT_LE((mine - other).abs().max().item<double>(), limit) << what;
}
void expect_close(const Tensor& got, const Tensor& right, const std::string& what) {
  expect_close(got, right, what, right.scalar_type());
}
void expect_same(const Tensor& got, const Tensor& right, const std::string& what) {
  EXPECT_TRUE(at::equal(got.cpu(), right)) << what;
}

constexpr Dropout kDrop{0.25, 11, 3, 9};

// The first is divided into packs of 16 bytes, the second is not, the others have several blocks.
constexpr std::int64_t kWidths[] = {48, 100, 300, 1000};

class DevicePasses : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override { at::manual_seed(1); }
  [[nodiscard]] at::ScalarType number() const { return GetParam(); }
};

TEST_P(DevicePasses, DropTheSameElements) {
  const Batches batch;
  for (const std::int64_t width : kWidths) {
    const Tensor x = random({batch.on_host.tokens, width}, number());
    expect_same(passes::drop(batch.on_device, there(x), kDrop),
                passes::drop(batch.on_host, x, kDrop), std::to_string(width));
  }
}

TEST_P(DevicePasses, ComputeGelu) {
  for (const std::int64_t width : kWidths) {
    const Tensor x = random({33, width}, number());
    const Tensor dy = random({33, width}, number());
    const Tensor bias = random({width});
    for (const bool by_tanh : {false, true}) {
      expect_close(passes::gelu(there(x), there(bias), by_tanh), passes::gelu(x, bias, by_tanh),
                   "gelu");
      const auto [dx, d_bias] = passes::gelu_backward(there(dy), there(x), there(bias), by_tanh);
      const auto [right_dx, right_bias] = passes::gelu_backward(dy, x, bias, by_tanh);
      expect_close(dx, right_dx, "dx");
      expect_close(d_bias, right_bias, "bias");
    }
  }
}

TEST_P(DevicePasses, ComputeNormsWithAndWithoutBiasResidualAndDropout) {
  const Batches batch;
  const std::int64_t tokens = batch.on_host.tokens;
  for (const std::int64_t width : kWidths) {
    for (const int parts : {0, 1, 3}) {
      const Dropout drop = parts == 3 ? kDrop : Dropout{};
      const Tensor x = random({tokens, width}, number());
      const Tensor dy = random({tokens, width}, number());
      const Tensor bias = parts > 0 ? random({width}) : Tensor();
      const Tensor residual = parts > 1 ? random({tokens, width}, number()) : Tensor();
      const Norm norm{random({width}), random({width}), 1e-12};
      const Norm norm_there{there(norm.gamma), there(norm.beta), norm.epsilon};
      const std::string name = std::to_string(width) + " with " + std::to_string(parts) + " parts";
      const Normed right = passes::add_norm(batch.on_host, x, bias, residual, norm, drop);
      const Normed got = passes::add_norm(batch.on_device, there(x), there(bias), there(residual),
                                          norm_there, drop);
      expect_close(got.z, right.z, "z, " + name);
      expect_close(got.y, right.y, "y, " + name);
      expect_close(got.mean, right.mean, "mean, " + name);
      expect_close(got.rstd, right.rstd, "rstd, " + name);
      const NormGradients d =
          passes::add_norm_backward(batch.on_host, dy, right, norm.gamma, parts > 0, drop);
      const NormGradients e = passes::add_norm_backward(batch.on_device, there(dy), got,
                                                        norm_there.gamma, parts > 0, drop);
      expect_close(e.dz, d.dz, "dz, " + name);
      expect_close(e.dx, d.dx, "dx, " + name);
      expect_close(e.gamma, d.gamma, "gamma, " + name);
      expect_close(e.beta, d.beta, "beta, " + name);
      EXPECT_EQ(e.bias.defined(), parts > 0);
      // The device adds up the gradients of x after their rounding.
      if (parts > 0) expect_close(e.bias, d.bias, "bias, " + name, number());
    }
  }
}

TEST_P(DevicePasses, EmbedTokens) {
  const Batches batch;
  const std::int64_t tokens = batch.on_host.tokens;
  for (const std::int64_t width : {64, 50}) {
    const Tensor ids = at::randint(0, 30, {tokens}, at::kLong);
    const Tensor types = at::randint(0, 2, {tokens}, at::kLong);
    const Tensor words = random({30, width});
    const Tensor positions = random({20, width});
    const Tensor kinds = random({2, width});
    expect_same(passes::embed(batch.on_device, there(ids), there(types),
                              {there(words), there(positions), there(kinds)}, number()),
                passes::embed(batch.on_host, ids, types, {words, positions, kinds}, number()),
                "embed");
    const Tensor d = random({tokens, width});
    const EmbedGradients got =
        passes::embed_backward(batch.on_device, there(ids), there(types), there(d), {30, 20, 2});
    const EmbedGradients right = passes::embed_backward(batch.on_host, ids, types, d, {30, 20, 2});
    expect_close(got.word, right.word, "words");
    expect_close(got.position, right.position, "positions");
    expect_close(got.type, right.type, "types");
  }
}

TEST_P(DevicePasses, SplitAndMergeHeads) {
  const Batches batch;
  const int longest = batch.on_host.longest;
  for (const Heads heads : {Heads{3, 16}, Heads{2, 5}}) {
    const std::int64_t width = std::int64_t{heads.count} * heads.size;
    const auto compare = [&](std::int64_t rows, std::vector<int> lengths, bool has_bias) {
      const auto parts = static_cast<std::int64_t>(lengths.size());
      const Tensor x = random({rows, parts * width}, number());
      const Tensor bias = has_bias ? random({parts * width}) : Tensor();
      const Parts right = passes::split(batch.on_host, heads, x, bias, lengths);
      const Parts got = passes::split(batch.on_device, heads, there(x), there(bias), lengths);
      for (std::size_t p = 0; p < lengths.size(); ++p) {
        expect_same(got.matrices[p], right.matrices[p], "part");
      }
      Tensor right_sum;
      Tensor sum;
      const Tensor merged = passes::merge(batch.on_host, heads, right, &right_sum);
      expect_same(passes::merge(batch.on_device, heads, got, &sum), merged, "merged");
      expect_close(sum, right_sum, "sum");
      expect_same(passes::merge(batch.on_device, heads, got, nullptr), merged, "merged");
    };
    compare(batch.on_host.tokens, {longest, longest, longest}, true);
    compare(batch.on_host.tokens, {1, longest, longest}, true);
    compare(batch.on_host.tokens, {longest}, false);
    compare(batch.on_host.rows, {1}, false);
  }
}

TEST_P(DevicePasses, ComputeAttentionProbabilities) {
  for (const int longest : {0, 300}) {
    const Batches batch(longest);
    const Heads heads{2, 8};
    const std::int64_t width = batch.on_host.longest;
    for (const std::int64_t queries : {std::int64_t{1}, width}) {
      for (const Dropout& drop : {Dropout{}, kDrop}) {
        const Tensor scores = random({batch.on_host.rows * 2, queries, width}, number());
        const Tensor d = random(scores.sizes(), number());
        const Tensor p = scores.clone();
        const Tensor p_there = there(scores);
        const Tensor right = passes::softmax(batch.on_host, heads, p, 0.3F, drop);
        const Tensor got = passes::softmax(batch.on_device, heads, p_there, 0.3F, drop);
        expect_close(p_there, p, "p");
        expect_close(got, right, "dropped");
        if (drop.share > 0) expect_same(got == 0, right == 0, "what is dropped");
        const Tensor d_there = there(d);
        passes::softmax_backward(batch.on_device, heads, p_there, got, d_there, 0.3F);
        passes::softmax_backward(batch.on_host, heads, p, right, d, 0.3F);
        expect_close(d_there, d, "gradient");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Numbers,
                         DevicePasses,
                         ::testing::Values(at::kFloat, at::kBFloat16, at::kHalf),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

}  // namespace
}  // namespace bp::trainer
