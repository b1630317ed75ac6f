// The passes over the host's memory: rows and columns are divided among LibTorch's threads.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "trainer/model/passes/passes.h"
#include "trainer/model/passes/rows.h"

namespace bp::trainer {
namespace {

using device::ModelKernels;
using Code = ModelKernels::Code;
using Stream = ModelKernels::Stream;

template <class Number>
Number* at_row(void* matrix, std::int64_t offset) {
  return matrix == nullptr ? nullptr : static_cast<Number*>(matrix) + offset;
}
template <class Number>
const Number* at_row(const void* matrix, std::int64_t offset) {
  return matrix == nullptr ? nullptr : static_cast<const Number*>(matrix) + offset;
}

template <class Body>
void for_each_row(const device::Matrix& size, const Body& body) {
  trainer::for_each_row(size.number, size.rows, size.width, body);
}

// As for_each_row(), for bodies that sum over rows: body(Number{}, kernels, row, sums) adds to the
// sums, [width], of the row's piece.
template <class Body>
void sum_each_row(const device::Matrix& size, float* sums, std::int64_t width, const Body& body) {
  by_number(size.number, [&](auto tag) {
    const auto& k = kernels::kernels<decltype(tag)>();
    for_pieces(size.rows, sums, width, [&](std::int64_t begin, std::int64_t end, float* sum) {
      for (std::int64_t row = begin; row < end; ++row) body(tag, k, row, sum);
    });
  });
}

// What a row loses.
kernels::DropoutRow row_of(const device::Drop& drop, std::int64_t row) {
  kernels::DropoutRow result;
  if (drop.threshold == 0) return result;
  result.key[0] = drop.key[0];
  result.key[1] = drop.key[1];
  result.site = drop.site;
  result.threshold = static_cast<std::uint16_t>(drop.threshold);
  result.scale = drop.scale;
  if (drop.heads == 0) {
    result.sample = static_cast<std::uint32_t>(drop.samples[row]);
    result.row = static_cast<std::uint32_t>(drop.places[row]);
  } else {
    const std::int64_t matrix = row / drop.queries;
    result.sample = static_cast<std::uint32_t>(drop.samples[matrix / drop.heads]);
    result.row = static_cast<std::uint32_t>(matrix % drop.heads) << 16 |
                 static_cast<std::uint32_t>(row % drop.queries);
  }
  return result;
}

Code embed(const device::Embed& e, Stream /*stream*/) {
  const std::int64_t width = e.size.width;
  for_each_row(e.size, [&](auto tag, const auto& k, std::int64_t t) {
    using Number = decltype(tag);
    auto* to = at_row<Number>(e.out, t * width);
    if (t >= e.tokens) {
      std::memset(to, 0, static_cast<std::size_t>(width) * sizeof(Number));
      return;
    }
    k.embed(to, e.words + e.ids[t] * width, e.positions + e.places[t] * width,
            e.kinds + e.types[t] * width, e.size.width);
  });
  return 0;
}

// Threads divide the columns: one thread adds up each number, in the order of the tokens, so the
// sums do not depend on the number of threads.
Code embed_backward(const device::EmbedBackward& e, Stream /*stream*/) {
  const std::int64_t width = e.width;
  for_columns(width, e.tokens, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = 0; row < e.samples; ++row) {
      for (std::int64_t place = 0; place < e.lengths[row]; ++place) {
        const std::int64_t t = e.firsts[row] + place;
        float* word = e.words + e.ids[t] * width;
        float* position = e.positions + e.places[t] * width;
        float* type = e.types + e.type[t] * width;
        const float* d = e.d + t * width;
        for (std::int64_t i = begin; i < end; ++i) {
          word[i] += d[i];
          position[i] += d[i];
          type[i] += d[i];
        }
      }
    }
  });
  return 0;
}

Code gelu(const device::Gelu& g, Stream /*stream*/) {
  for_each_row(g.size, [&](auto tag, const auto& k, std::int64_t t) {
    using Number = decltype(tag);
    const std::int64_t at = t * g.size.width;
    const auto gelu = g.by_tanh ? k.gelu_tanh : k.gelu;
    gelu(at_row<Number>(g.y, at), at_row<Number>(g.x, at), g.bias, g.size.width);
  });
  return 0;
}

Code gelu_backward(const device::GeluBackward& g, Stream /*stream*/) {
  sum_each_row(g.size, g.sums, g.size.width,
               [&](auto tag, const auto& k, std::int64_t t, float* sum) {
                 using Number = decltype(tag);
                 const std::int64_t at = t * g.size.width;
                 const auto backward = g.by_tanh ? k.gelu_tanh_backward : k.gelu_backward;
                 backward(at_row<Number>(g.dx, at), sum, at_row<Number>(g.dy, at),
                          at_row<Number>(g.x, at), g.bias, g.size.width);
               });
  return 0;
}

Code add_norm(const device::AddNorm& n, Stream /*stream*/) {
  for_each_row(n.size, [&](auto tag, const auto& k, std::int64_t t) {
    using Number = decltype(tag);
    const std::int64_t at = t * n.size.width;
    const kernels::DropoutRow drop = row_of(n.drop, t);
    typename kernels::Kernels<Number>::AddNorm row;
    row.z = at_row<Number>(n.z, at);
    row.y = at_row<Number>(n.y, at);
    row.mean = n.mean + t;
    row.rstd = n.rstd + t;
    row.x = at_row<Number>(n.x, at);
    row.bias = n.bias;
    row.residual = at_row<Number>(n.residual, at);
    row.gamma = n.gamma;
    row.beta = n.beta;
    row.dropout = n.drop.threshold != 0 ? &drop : nullptr;
    row.width = n.size.width;
    row.epsilon = n.epsilon;
    k.add_norm(row);
  });
  return 0;
}

Code add_norm_backward(const device::AddNormBackward& n, Stream /*stream*/) {
  const std::int64_t width = n.size.width;
  sum_each_row(n.size, n.sums, 3 * width, [&](auto tag, const auto& k, std::int64_t t, float* sum) {
    using Number = decltype(tag);
    const kernels::DropoutRow drop = row_of(n.drop, t);
    typename kernels::Kernels<Number>::AddNormBackward row;
    row.dz = at_row<Number>(n.dz, t * width);
    row.dx = n.dx == nullptr ? row.dz : at_row<Number>(n.dx, t * width);
    row.gamma_sum = sum;
    row.beta_sum = sum + width;
    row.bias_sum = n.has_bias ? sum + 2 * width : nullptr;
    row.dy = at_row<Number>(n.dy, t * width);
    row.z = at_row<Number>(n.z, t * width);
    row.gamma = n.gamma;
    row.dropout = n.drop.threshold != 0 ? &drop : nullptr;
    row.width = n.size.width;
    row.mean = n.mean[t];
    row.rstd = n.rstd[t];
    k.add_norm_backward(row);
  });
  return 0;
}

Code drop(const device::DropRows& d, Stream /*stream*/) {
  for_each_row(d.size, [&](auto tag, const auto& k, std::int64_t t) {
    using Number = decltype(tag);
    const std::int64_t at = t * d.size.width;
    k.dropout(at_row<Number>(d.y, at), at_row<Number>(d.x, at), d.size.width, row_of(d.drop, t));
  });
  return 0;
}

// Returns where token `place` of sample `row` is in the matrices.
template <class Number>
typename kernels::Kernels<Number>::Heads locate(const device::Heads& heads,
                                                std::int64_t row,
                                                std::int64_t place) {
  typename kernels::Kernels<Number>::Heads at;
  at.parts = heads.parts;
  at.count = heads.heads;
  at.size = heads.head_size;
  for (int p = 0; p < heads.parts; ++p) {
    if (place >= heads.length[p]) continue;
    at.stride[p] = std::int64_t{heads.length[p]} * heads.head_size;
    at.heads[p] = static_cast<Number*>(heads.matrices[p]) + row * heads.heads * at.stride[p] +
                  place * heads.head_size;
  }
  return at;
}

// Writes zeros after the samples' ends, so that a product never reads uninitialized memory.
template <class Number>
void clear_padding(const device::Heads& heads, std::int64_t row) {
  for (int p = 0; p < heads.parts; ++p) {
    const std::int64_t stride = std::int64_t{heads.length[p]} * heads.head_size;
    const std::int64_t valid = std::min(stride, heads.lengths[row] * heads.head_size);
    auto* matrix = static_cast<Number*>(heads.matrices[p]) + row * heads.heads * stride;
    for (int head = 0; head < heads.heads; ++head, matrix += stride) {
      std::memset(matrix + valid, 0, static_cast<std::size_t>(stride - valid) * sizeof(Number));
    }
  }
}

Code split_heads(const device::SplitHeads& s, Stream /*stream*/) {
  const device::Heads& heads = s.heads;
  const std::int64_t width = std::int64_t{heads.parts} * heads.heads * heads.head_size;
  const auto of_samples = static_cast<int>(heads.longest * width);
  for_each_row({heads.samples, of_samples, heads.number},
               [&](auto tag, const auto& k, std::int64_t row) {
                 using Number = decltype(tag);
                 clear_padding<Number>(heads, row);
                 const std::int64_t first = heads.first_only ? row : heads.firsts[row];
                 const std::int64_t length = heads.first_only ? 1 : heads.lengths[row];
                 for (std::int64_t place = 0; place < length; ++place) {
                   k.split_heads(locate<Number>(heads, row, place),
                                 at_row<Number>(heads.rows, (first + place) * width), s.bias);
                 }
               });
  return 0;
}

Code merge_heads(const device::MergeHeads& m, Stream /*stream*/) {
  const device::Heads& heads = m.heads;
  const int width = heads.parts * heads.heads * heads.head_size;
  const auto merge = [&](auto tag, const auto& k, std::int64_t t, float* sum) {
    using Number = decltype(tag);
    auto* to = at_row<Number>(heads.rows, t * width);
    if (!heads.first_only && t >= heads.tokens) {
      std::memset(to, 0, static_cast<std::size_t>(width) * sizeof(Number));
      return;
    }
    const std::int64_t padded = heads.first_only ? t * heads.longest : heads.padded[t];
    k.merge_heads(to, sum, locate<Number>(heads, padded / heads.longest, padded % heads.longest));
  };
  const device::Matrix size{m.filled, width, heads.number};
  if (m.sums != nullptr) {
    sum_each_row(size, m.sums, width, merge);
  } else {
    for_each_row(size, [&](auto tag, const auto& k, std::int64_t t) { merge(tag, k, t, nullptr); });
  }
  return 0;
}

// The number of columns of a row of attention probabilities that are tokens. Rows of padding have
// none, so all their numbers become 0.
template <class Arguments>
int valid_columns(const Arguments& s, std::int64_t row) {
  const std::int64_t length = s.lengths[row / s.queries / s.heads];
  return static_cast<int>(row % s.queries < length ? length : 0);
}

Code softmax(const device::Softmax& s, Stream /*stream*/) {
  for_each_row(s.size, [&](auto tag, const auto& k, std::int64_t row) {
    using Number = decltype(tag);
    const std::int64_t at = row * s.size.width;
    const kernels::DropoutRow drop = row_of(s.drop, row);
    k.softmax(at_row<Number>(s.p, at), at_row<Number>(s.dropped, at), at_row<Number>(s.scores, at),
              valid_columns(s, row), s.size.width, s.scale,
              s.drop.threshold != 0 ? &drop : nullptr);
  });
  return 0;
}

Code softmax_backward(const device::SoftmaxBackward& s, Stream /*stream*/) {
  for_each_row(s.size, [&](auto tag, const auto& k, std::int64_t row) {
    using Number = decltype(tag);
    const std::int64_t at = row * s.size.width;
    k.softmax_backward(at_row<Number>(s.d_scores, at), at_row<Number>(s.p, at),
                       at_row<Number>(s.dropped, at), at_row<Number>(s.d_dropped, at),
                       valid_columns(s, row), s.size.width, s.scale);
  });
  return 0;
}

}  // namespace

const ModelKernels& host_kernels() {
  static constexpr ModelKernels kTable{.version = ModelKernels::kVersion,
                                       .embed = embed,
                                       .embed_backward = embed_backward,
                                       .add_norm = add_norm,
                                       .add_norm_backward = add_norm_backward,
                                       .gelu = gelu,
                                       .gelu_backward = gelu_backward,
                                       .drop = drop,
                                       .softmax = softmax,
                                       .softmax_backward = softmax_backward,
                                       .split_heads = split_heads,
                                       .merge_heads = merge_heads};
  return kTable;
}

}  // namespace bp::trainer
