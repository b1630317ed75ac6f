#include "comm/torch/sum_of_squares.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "comm/torch/bucket_layout.h"
#include "comm/torch/gradient_math.h"

namespace bp {

void sums_of_squares(const ConstView& elements, std::span<double> sums) {
  at::parallel_for(
      0, static_cast<std::int64_t>(sums.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const std::size_t first = i * kSquaresPiece;
          sums[i] = sum_of_squares(elements.type, elements.data + first * size_of(elements.type),
                                   std::min(kSquaresPiece, elements.count - first));
        }
      });
}

}  // namespace bp
