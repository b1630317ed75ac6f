#include "comm/torch/sum_of_squares.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "bp/types.h"
#include "comm/torch/gradient_math.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

// Elements that one thread adds up, whatever the number of threads is.
constexpr std::size_t kPiece = std::size_t{1} << 16;

}  // namespace

double sum_of_squares(const at::Tensor& tensor) {
  const ConstView all = elements_of(tensor);
  std::vector<double> sums((all.count + kPiece - 1) / kPiece);
  at::parallel_for(
      0, static_cast<std::int64_t>(sums.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const std::size_t first = i * kPiece;
          sums[i] = sum_of_squares(all.type, all.data + first * size_of(all.type),
                                   std::min(kPiece, all.count - first));
        }
      });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace bp
