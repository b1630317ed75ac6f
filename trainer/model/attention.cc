// Attention as batched products of small matrices, one per sample and head, with one fused pass for
// scale, softmax and dropout between them. Only this file pads samples, with zero rows.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "trainer/model/functions.h"
#include "trainer/model/products.h"
#include "trainer/model/rows.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Heads {
  int count = 1;
  int size = 0;
};

// The tokens' rows [tokens, parts * heads * size] as one matrix [rows * heads, length, size] per
// part. A part of length 1 holds only the first token of each sample.
struct Parts {
  std::vector<Tensor> matrices;
  std::vector<int> lengths;
};

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

// Returns the tokens' rows `x`, plus bias, as matrices.
Parts split(const Layout& layout,
            const Heads& heads,
            const Tensor& x,
            const Tensor& bias,
            std::vector<int> lengths) {
  Parts parts{{}, std::move(lengths)};
  for (const int length : parts.lengths) {
    parts.matrices.push_back(
        at::empty({std::int64_t{layout.rows} * heads.count, length, heads.size}, x.options()));
  }
  const std::int64_t width = x.size(1);
  const bool first_only = x.size(0) == layout.rows && parts.lengths[0] == 1;
  by_type(x, [&](auto tag) {
    using Number = decltype(tag);
    const auto& k = kernels::kernels<Number>();
    for_rows(layout.rows, layout.longest * width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        clear_padding<Number>(layout, parts, heads, row);
        const std::int64_t first = first_only ? row : layout.offsets[static_cast<std::size_t>(row)];
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

// The reverse of split(): returns [tokens, parts * heads * size], or [rows, ...] for parts of first
// tokens, with zeros in the rows that belong to no sample. Unless it is null, `bias_sum` is set to
// the sum over rows.
Tensor merge(const Layout& layout, const Heads& heads, const Parts& parts, Tensor* bias_sum) {
  const std::int64_t width =
      static_cast<std::int64_t>(parts.lengths.size()) * heads.count * heads.size;
  const bool first_only = parts.lengths.size() == 1 && parts.lengths[0] == 1;
  const std::int64_t rows = first_only ? layout.rows : layout.tokens;
  Tensor x = at::empty({rows, width}, parts.matrices[0].options());
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

struct KeptHeads : torch::CustomClassHolder {
  LayoutPtr layout;
  Heads heads;
};

struct Attention : Function<Attention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        int count,
                        bool first_only,
                        const Dropout& dropout) {
    auto kept = c10::make_intrusive<KeptHeads>();
    kept->layout = layout;
    kept->heads = {count, static_cast<int>(qkv.size(1) / 3 / count)};
    const Heads& heads = kept->heads;
    const int longest = layout->longest;
    const Parts parts =
        split(*layout, heads, qkv, bias, {first_only ? 1 : longest, longest, longest});
    const Tensor& q = parts.matrices[0];
    const Tensor& k = parts.matrices[1];
    const Tensor& v = parts.matrices[2];
    const at::ScalarType number = qkv.scalar_type();
    const Tensor p = matrix_products(for_products(q), for_products(k).transpose(1, 2), number);
    const DropoutRows drops(dropout, *layout);
    const Tensor dropped = drops.active() ? at::empty_like(p) : p;
    const float scale = 1.0F / std::sqrt(static_cast<float>(heads.size));
    const int width = static_cast<int>(p.size(2));
    for_queries(*layout, heads, p,
                [&](auto tag, int row, int head, int query, std::int64_t offset, int valid) {
                  using Number = decltype(tag);
                  const kernels::DropoutRow drop = drops.of(row, head, query);
                  Number* scores = data<Number>(p) + offset;
                  kernels::kernels<Number>().softmax(
                      scores, drops.active() ? data<Number>(dropped) + offset : nullptr, scores,
                      valid, width, scale, drops.active() ? &drop : nullptr);
                });
    const Tensor heads_y = matrix_products(for_products(dropped), for_products(v), number);
    const Tensor y = merge(*layout, heads, {{heads_y}, {parts.lengths[0]}}, nullptr);
    ctx->save_for_backward({q, k, v, p, dropped});
    ctx->saved_data["kept"] = c10::IValue::make_capsule(std::move(kept));
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto kept =
        c10::dynamic_intrusive_pointer_cast<KeptHeads>(ctx->saved_data["kept"].toCapsule());
    const Layout& layout = *kept->layout;
    const Heads& heads = kept->heads;
    const Tensor& q = saved[0];
    const Tensor& k = saved[1];
    const Tensor& v = saved[2];
    const Tensor& p = saved[3];
    const Tensor& dropped = saved[4];
    const auto queries = static_cast<int>(q.size(1));
    const at::ScalarType number = p.scalar_type();
    const Tensor dy =
        for_products(split(layout, heads, gradients[0].contiguous(), {}, {queries}).matrices[0]);
    const Tensor dv = matrix_products(for_products(dropped).transpose(1, 2), dy, number);
    const Tensor d_scores = matrix_products(dy, for_products(v).transpose(1, 2), number);
    const float scale = 1.0F / std::sqrt(static_cast<float>(heads.size));
    const int width = static_cast<int>(p.size(2));
    for_queries(
        layout, heads, d_scores,
        [&](auto tag, int /*row*/, int /*head*/, int /*query*/, std::int64_t offset, int valid) {
          using Number = decltype(tag);
          Number* d = data<Number>(d_scores) + offset;
          kernels::kernels<Number>().softmax_backward(
              d, data<Number>(p) + offset, data<Number>(dropped) + offset, d, valid, width, scale);
        });
    const Tensor d = for_products(d_scores);
    const Tensor dq = matrix_products(d, for_products(k), number);
    const Tensor dk = matrix_products(d.transpose(1, 2), for_products(q), number);
    Tensor d_bias;
    const Tensor dqkv =
        merge(layout, heads, {{dq, dk, dv}, {queries, layout.longest, layout.longest}}, &d_bias);
    return {Tensor(), dqkv, d_bias, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor attention(const LayoutPtr& layout,
                 const Tensor& qkv,
                 const Tensor& bias,
                 int heads,
                 bool first_only,
                 const Dropout& dropout) {
  return Attention::apply(layout, qkv, bias, heads, first_only, dropout);
}

}  // namespace bp::trainer
