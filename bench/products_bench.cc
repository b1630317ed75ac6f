// Measures the products of a training step in fp32 by each of LibTorch's libraries: y = x w^T, and
// the gradients of x and of w. For each shape of a layer it prints the billions of operations a
// second, medians of as many calls as fit into a tenth of a second, and which library bp takes. The
// results of both must agree.
//
//   products_bench [TOKENS]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <vector>

#include "bench/training.h"
#include "trainer/model/passes/products.h"

namespace bp::trainer {
namespace {

using at::Tensor;

struct Operands {
  const char* name;
  Tensor a;
  Tensor b;
};

double operations_per_ns(const Operands& of, Fp32Products how) {
  constexpr std::chrono::milliseconds kEnough{100};
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  for (auto now = begin; times.size() < 5 || now - begin < kEnough;) {
    const auto before = now;
    (void)matrix_product(of.a, of.b, at::kFloat, how);
    now = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::nano>(now - before).count());
  }
  return 2.0 * static_cast<double>(of.a.numel() * of.b.size(1)) / median(times);
}

void measure(std::int64_t tokens, std::int64_t out, std::int64_t in) {
  const Tensor x = at::randn({tokens, in});
  const Tensor w = at::randn({out, in});
  const Tensor dy = at::randn({tokens, out});
  std::printf("%6lld %6lld ", static_cast<long long>(out), static_cast<long long>(in));
  for (const Operands& of :
       {Operands{"y", x, w.t()}, Operands{"dx", dy, w}, Operands{"dw", dy.t(), x}}) {
    const Tensor one = matrix_product(of.a, of.b, at::kFloat, Fp32Products::mkl);
    const Tensor other = matrix_product(of.a, of.b, at::kFloat, Fp32Products::onednn);
    if (!at::allclose(one, other, 1e-4, 1e-3)) throw std::runtime_error("the results differ");
    const double mkl = operations_per_ns(of, Fp32Products::mkl);
    const double onednn = operations_per_ns(of, Fp32Products::onednn);
    std::printf(" %10s %5.0f %6.0f %5.2f", of.name, mkl, onednn, onednn / mkl);
  }
  std::printf("\n");
}

void run(std::int64_t tokens) {
  const Tensor warm_up = at::randn({1024, 1024});
  (void)operations_per_ns({"warm-up", warm_up, warm_up}, Fp32Products::mkl);
  const bool onednn = fp32_products() == Fp32Products::onednn;
  std::printf("%lld tokens, %d threads; bp takes %s here\n", static_cast<long long>(tokens),
              at::get_num_threads(), onednn ? "oneDNN" : "MKL");
  std::printf(
      "   out     in     product   MKL oneDNN ratio    product   MKL oneDNN ratio"
      "    product   MKL oneDNN ratio\n");
  for (const std::int64_t hidden : {128, 384, 768}) {
    measure(tokens, 3 * hidden, hidden);
    measure(tokens, hidden, hidden);
    measure(tokens, 4 * hidden, hidden);
    measure(tokens, hidden, 4 * hidden);
  }
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  try {
    const int tokens = argc > 1 ? std::atoi(argv[1]) : 416;
    if (argc > 2 || tokens < 1) {
      std::fprintf(stderr, "usage: products_bench [TOKENS]\n");
      return 2;
    }
    bp::trainer::keep_large_blocks();
    bp::trainer::run(tokens);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "products_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
