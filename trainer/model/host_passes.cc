// The passes over the host's memory: rows and columns are divided among LibTorch's threads.
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "trainer/model/passes.h"
#include "trainer/model/rows.h"
#include "trainer/model/words_of_batch.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// Returns where token `place` of sample `row` is in the matrices.
template <class Number>
typename kernels::Kernels<Number>::Heads locate(const Parts& parts,
                                                const Heads& heads,
                                                std::int64_t row,
                                                std::int64_t place) {
  typename kernels::Kernels<Number>::Heads at;
  at.parts = static_cast<int>(parts.lengths.size());
  at.count = heads.count;
  at.size = heads.size;
  for (std::size_t p = 0; p < parts.lengths.size(); ++p) {
    if (place >= parts.lengths[p]) continue;
    at.stride[p] = std::int64_t{parts.lengths[p]} * heads.size;
    at.heads[p] =
        data<Number>(parts.matrices[p]) + row * heads.count * at.stride[p] + place * heads.size;
  }
  return at;
}

// Writes zeros after the samples' ends, so that a product never reads uninitialized memory.
template <class Number>
void clear_padding(const Layout& layout, const Parts& parts, const Heads& heads, std::int64_t row) {
  for (std::size_t p = 0; p < parts.lengths.size(); ++p) {
    const std::int64_t stride = std::int64_t{parts.lengths[p]} * heads.size;
    const std::int64_t valid =
        std::min(stride, std::int64_t{layout.length(static_cast<int>(row))} * heads.size);
    auto* matrix = data<Number>(parts.matrices[p]) + row * heads.count * stride;
    for (int head = 0; head < heads.count; ++head, matrix += stride) {
      std::memset(matrix + valid, 0, static_cast<std::size_t>(stride - valid) * sizeof(Number));
    }
  }
}

// Calls body(Number{}, row, head, query, offset, valid) for each row of the matrices [rows * heads,
// queries, longest], in parallel. `offset` is where the row begins, and `valid` the number of its
// columns that are not padding.
template <class Body>
void for_queries(const Layout& layout, const Heads& heads, const Tensor& scores, const Body& body) {
  const std::int64_t queries = scores.size(1);
  const std::int64_t width = scores.size(2);
  by_type(scores, [&](auto tag) {
    for_rows(scores.size(0), queries * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t matrix = begin; matrix < end; ++matrix) {
        const auto row = static_cast<int>(matrix / heads.count);
        const auto head = static_cast<int>(matrix % heads.count);
        for (std::int64_t query = 0; query < queries; ++query) {
          // Padding rows have no valid column, so all their numbers become 0.
          const int valid = query < layout.length(row) ? layout.length(row) : 0;
          body(tag, row, head, static_cast<int>(query), (matrix * queries + query) * width, valid);
        }
      }
    });
  });
}

class HostPasses : public Passes {
 public:
  [[nodiscard]] Tensor embed(const Layout& layout,
                             const Tensor& token_ids,
                             const Tensor& token_types,
                             const EmbedTables& tables,
                             at::ScalarType number) const override {
    const std::int64_t width = tables.word.size(1);
    Tensor out = at::empty({layout.tokens, width}, number);
    const auto* ids = token_ids.const_data_ptr<std::int64_t>();
    const auto* words = tables.word.const_data_ptr<float>();
    const auto* positions = tables.position.const_data_ptr<float>();
    const auto* types = tables.type.const_data_ptr<float>();
    const auto* type_of_token = token_types.const_data_ptr<std::int64_t>();
    by_type(out, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      auto* to = data<Number>(out);
      for_rows(layout.tokens, width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int32_t row = layout.row_of_token[static_cast<std::size_t>(t)];
          if (row < 0) {
            std::memset(to + t * width, 0, static_cast<std::size_t>(width) * sizeof(Number));
            continue;
          }
          const std::int64_t place = t - layout.offsets[static_cast<std::size_t>(row)];
          k.embed(to + t * width, words + ids[t] * width, positions + place * width,
                  types + type_of_token[t] * width, static_cast<int>(width));
        }
      });
    });
    return out;
  }

  // Threads divide the columns: one thread adds up each number, in the order of the tokens, so the
  // sums do not depend on the number of threads.
  [[nodiscard]] EmbedGradients embed_backward(const Layout& layout,
                                              const Tensor& token_ids,
                                              const Tensor& token_types,
                                              const Tensor& d_out,
                                              const EmbedSizes& sizes) const override {
    const std::int64_t width = d_out.size(1);
    const std::int64_t tokens = layout.offsets.back();
    const auto* rows = token_ids.const_data_ptr<std::int64_t>();
    WordsOfBatch batch;
    if (sizes.sparse_words) {
      batch = words_of_batch({rows, static_cast<std::size_t>(tokens)});
      rows = batch.places.data();
    }
    const std::int64_t word_rows =
        sizes.sparse_words ? static_cast<std::int64_t>(batch.words.size()) : sizes.words;
    EmbedGradients result{zero_rows(word_rows, width),
                          at::zeros({sizes.positions, width}, at::kFloat),
                          at::zeros({sizes.types, width}, at::kFloat)};
    const auto* type_of_token = token_types.const_data_ptr<std::int64_t>();
    const auto* from = d_out.const_data_ptr<float>();
    auto* words = result.word.data_ptr<float>();
    auto* positions = result.position.data_ptr<float>();
    auto* types = result.type.data_ptr<float>();
    for_columns(width, tokens, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const auto row = static_cast<std::size_t>(layout.row_of_token[static_cast<std::size_t>(t)]);
        float* word = words + rows[t] * width;
        float* position = positions + (t - layout.offsets[row]) * width;
        float* type = types + type_of_token[t] * width;
        const float* d = from + t * width;
        for (std::int64_t i = begin; i < end; ++i) {
          word[i] += d[i];
          position[i] += d[i];
          type[i] += d[i];
        }
      }
    });
    if (sizes.sparse_words) {
      const Tensor numbers = at::tensor(batch.words, at::kLong).unsqueeze(0);
      result.word = at::_sparse_coo_tensor_unsafe(numbers, result.word, {sizes.words, width})
                        ._coalesced_(true);
    }
    return result;
  }

  [[nodiscard]] Tensor gelu(const Tensor& x, const Tensor& bias) const override {
    Tensor y = at::empty_like(x);
    const std::int64_t width = x.size(1);
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      for_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          k.gelu(data<Number>(y) + t * width, data<Number>(x) + t * width, data<float>(bias),
                 static_cast<int>(width));
        }
      });
    });
    return y;
  }
  [[nodiscard]] std::pair<Tensor, Tensor> gelu_backward(const Tensor& dy,
                                                        const Tensor& x,
                                                        const Tensor& bias) const override {
    const std::int64_t width = x.size(1);
    Tensor dx = at::empty_like(x);
    Tensor d_bias;
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      d_bias =
          sum_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t end, float* bias_sum) {
            for (std::int64_t t = begin; t < end; ++t) {
              k.gelu_backward(data<Number>(dx) + t * width, bias_sum, data<Number>(dy) + t * width,
                              data<Number>(x) + t * width, data<float>(bias),
                              static_cast<int>(width));
            }
          });
    });
    return {dx, d_bias};
  }

  [[nodiscard]] Normed add_norm(const Layout& layout,
                                const Tensor& x,
                                const Tensor& bias,
                                const Tensor& residual,
                                const Norm& norm,
                                const Dropout& dropout) const override {
    const std::int64_t width = x.size(1);
    Normed result;
    result.z = at::empty_like(x);
    result.y = at::empty_like(x);
    result.mean = at::empty({x.size(0)}, at::kFloat);
    result.rstd = at::empty({x.size(0)}, at::kFloat);
    const DropoutRows drops(dropout, layout);
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      for_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const kernels::DropoutRow drop = drops.of(t);
          typename kernels::Kernels<Number>::AddNorm row;
          row.z = data<Number>(result.z) + t * width;
          row.y = data<Number>(result.y) + t * width;
          row.mean = data<float>(result.mean) + t;
          row.rstd = data<float>(result.rstd) + t;
          row.x = data<Number>(x) + t * width;
          row.bias = data<float>(bias);
          row.residual = residual.defined() ? data<Number>(residual) + t * width : nullptr;
          row.gamma = data<float>(norm.gamma);
          row.beta = data<float>(norm.beta);
          row.dropout = drops.active() ? &drop : nullptr;
          row.width = static_cast<int>(width);
          row.epsilon = static_cast<float>(norm.epsilon);
          k.add_norm(row);
        }
      });
    });
    return result;
  }

  [[nodiscard]] NormGradients add_norm_backward(const Layout& layout,
                                                const Tensor& dy,
                                                const Normed& normed,
                                                const Tensor& gamma,
                                                bool has_bias,
                                                const Dropout& dropout) const override {
    const Tensor& z = normed.z;
    const DropoutRows drops(dropout, layout);
    const std::int64_t width = z.size(1);
    Tensor dz = at::empty_like(z);
    Tensor dx = drops.active() ? at::empty_like(z) : dz;
    Tensor sums;  // [gamma, beta, bias]
    by_type(z, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      sums = sum_rows(z.size(0), 3 * width, [&](std::int64_t begin, std::int64_t end, float* sum) {
        for (std::int64_t t = begin; t < end; ++t) {
          const kernels::DropoutRow drop = drops.of(t);
          typename kernels::Kernels<Number>::AddNormBackward row;
          row.dz = data<Number>(dz) + t * width;
          row.dx = data<Number>(dx) + t * width;
          row.gamma_sum = sum;
          row.beta_sum = sum + width;
          row.bias_sum = has_bias ? sum + 2 * width : nullptr;
          row.dy = data<Number>(dy) + t * width;
          row.z = data<Number>(z) + t * width;
          row.gamma = data<float>(gamma);
          row.dropout = drops.active() ? &drop : nullptr;
          row.width = static_cast<int>(width);
          row.mean = data<float>(normed.mean)[t];
          row.rstd = data<float>(normed.rstd)[t];
          k.add_norm_backward(row);
        }
      });
    });
    return {dz, dx, sums.slice(0, 0, width), sums.slice(0, width, 2 * width),
            has_bias ? sums.slice(0, 2 * width) : Tensor()};
  }

  [[nodiscard]] Tensor drop(const Layout& layout,
                            const Tensor& x,
                            const Dropout& dropout) const override {
    Tensor y = at::empty_like(x);
    const std::int64_t width = x.size(1);
    const DropoutRows drops(dropout, layout);
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      for_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          k.dropout(data<Number>(y) + t * width, data<Number>(x) + t * width,
                    static_cast<int>(width), drops.of(t));
        }
      });
    });
    return y;
  }

  [[nodiscard]] Parts split(const Layout& layout,
                            const Heads& heads,
                            const Tensor& x,
                            const Tensor& bias,
                            std::vector<int> lengths) const override {
    Parts parts = empty_parts(layout, heads, x, std::move(lengths));
    const std::int64_t width = x.size(1);
    const bool first_only = are_first_only(layout, parts, x);
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      for_rows(layout.rows, layout.longest * width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          clear_padding<Number>(layout, parts, heads, row);
          const std::int64_t first =
              first_only ? row : layout.offsets[static_cast<std::size_t>(row)];
          const int length = first_only ? 1 : layout.length(static_cast<int>(row));
          for (std::int64_t place = 0; place < length; ++place) {
            k.split_heads(locate<Number>(parts, heads, row, place),
                          data<Number>(x) + (first + place) * width, data<float>(bias));
          }
        }
      });
    });
    return parts;
  }

  [[nodiscard]] Tensor merge(const Layout& layout,
                             const Heads& heads,
                             const Parts& parts,
                             Tensor* bias_sum) const override {
    Tensor x = empty_rows(layout, heads, parts);
    const std::int64_t rows = x.size(0);
    const std::int64_t width = x.size(1);
    const bool first_only = are_first_only(layout, parts, x);
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      const auto merge_rows = [&](std::int64_t begin, std::int64_t end, float* sum) {
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int32_t row = first_only ? static_cast<std::int32_t>(t)
                                              : layout.row_of_token[static_cast<std::size_t>(t)];
          auto* to = data<Number>(x) + t * width;
          if (row < 0) {
            std::memset(to, 0, static_cast<std::size_t>(width) * sizeof(Number));
            continue;
          }
          const std::int64_t place =
              first_only ? 0 : t - layout.offsets[static_cast<std::size_t>(row)];
          k.merge_heads(to, sum, locate<Number>(parts, heads, row, place));
        }
      };
      if (bias_sum != nullptr) {
        *bias_sum = sum_rows(rows, width, merge_rows);
      } else {
        for_rows(rows, width,
                 [&](std::int64_t begin, std::int64_t end) { merge_rows(begin, end, nullptr); });
      }
    });
    return x;
  }

  [[nodiscard]] Tensor softmax(const Layout& layout,
                               const Heads& heads,
                               const Tensor& scores,
                               float scale,
                               const Dropout& dropout) const override {
    const DropoutRows drops(dropout, layout);
    Tensor dropped = drops.active() ? at::empty_like(scores) : scores;
    const int width = static_cast<int>(scores.size(2));
    for_queries(layout, heads, scores,
                [&](auto tag, int row, int head, int query, std::int64_t offset, int valid) {
                  using Number = decltype(tag);
                  const kernels::DropoutRow drop = drops.of(row, head, query);
                  Number* p = data<Number>(scores) + offset;
                  kernels::kernels<Number>().softmax(
                      p, drops.active() ? data<Number>(dropped) + offset : nullptr, p, valid, width,
                      scale, drops.active() ? &drop : nullptr);
                });
    return dropped;
  }

  void softmax_backward(const Layout& layout,
                        const Heads& heads,
                        const Tensor& p,
                        const Tensor& dropped,
                        const Tensor& d,
                        float scale) const override {
    const int width = static_cast<int>(p.size(2));
    for_queries(
        layout, heads, d,
        [&](auto tag, int /*row*/, int /*head*/, int /*query*/, std::int64_t offset, int valid) {
          using Number = decltype(tag);
          Number* to = data<Number>(d) + offset;
          kernels::kernels<Number>().softmax_backward(to, data<Number>(p) + offset,
                                                      data<Number>(dropped) + offset, to, valid,
                                                      width, scale);
        });
  }
};

}  // namespace

const Passes& host_passes() {
  static const HostPasses kPasses;
  return kPasses;
}

}  // namespace bp::trainer
