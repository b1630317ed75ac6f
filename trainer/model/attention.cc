// Attention, in one of two ways: in the cache, head by head, or as batched
// products of small matrices, one per sample and head, with one fused pass for scale, softmax and
// dropout between them. Only these matrices pad samples, with zero rows.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <c10/core/ScalarType.h>

#include "trainer/model/disentangled.h"
#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/kept_layout.h"
#include "trainer/model/passes/layout.h"
#include "trainer/model/passes/passes.h"
#include "trainer/model/passes/products.h"
#include "trainer/model/passes/rows.h"
#include "trainer/model/relative_bias.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// The result, and what the backward pass needs of it.
struct Attended {
  at::Tensor y;        // [tokens, hidden], or [rows, hidden] for first tokens
  at::Tensor p;        // probabilities: [queries, keys] of each head, sample by sample
  at::Tensor dropped;  // the same after dropout, or `p`
};

struct AttentionGradients {
  at::Tensor qkv;
  at::Tensor bias;
  at::Tensor relative;
};

// Where the probabilities of each sample begin, in numbers of one head; the last is their sum.
std::vector<std::int64_t> score_offsets(const Layout& layout, bool first_only) {
  std::vector<std::int64_t> offsets = {0};
  for (int row = 0; row < layout.rows; ++row) {
    const std::int64_t length = layout.length(row);
    offsets.push_back(offsets.back() + (first_only ? length : length * length));
  }
  return offsets;
}

// Runs body(row, head) in parallel. Threads get about the same number of scores, because samples
// differ in length.
template <class Body>
void for_heads(const std::vector<std::int64_t>& scores, int heads, int size, const Body& body) {
  constexpr std::int64_t kGrain = 32768;  // multiplications of a product
  at::parallel_for(
      0, scores.back() * heads, kGrain / size + 1, [&](std::int64_t begin, std::int64_t end) {
        // The head with a score in `begin` belongs to the thread that has its first one.
        auto row = std::ranges::upper_bound(scores, begin / heads) - scores.begin() - 1;
        for (; row + 1 < std::ssize(scores); ++row) {
          const std::int64_t own = scores[row + 1] - scores[row];
          for (int head = 0; head < heads; ++head) {
            const std::int64_t first = scores[row] * heads + head * own;
            if (first >= end) return;
            if (first >= begin) body(static_cast<int>(row), head);
          }
        }
      });
}

template <class Head>
float* scratch_of_thread(const Head& head) {
  thread_local std::vector<float> scratch;
  const std::size_t needed = kernels::attention_scratch(head.tokens, head.size);
  if (scratch.size() < needed) scratch.resize(needed);
  return scratch.data();
}

// Writes zeros to the rows behind those of the samples.
void clear_rest(const Tensor& x, std::int64_t rows) {
  const std::size_t row = x.size(1) * x.element_size();
  auto* const data = static_cast<char*>(x.mutable_data_ptr());
  std::memset(data + rows * row, 0, (x.size(0) - rows) * row);
}

// Where a head of a sample is in the tensors.
template <class Number>
struct PlaceOfHead {
  typename kernels::Kernels<Number>::HeadOfSample head;
  std::int64_t x = 0;       // the first query, key and value are here in qkv: at x, x + hidden, ...
  std::int64_t y = 0;       // the first row of the result
  std::int64_t scores = 0;  // the first probability
};

template <class Number>
PlaceOfHead<Number> place_of(const Layout& layout,
                             const Heads& heads,
                             const Tensor& qkv,
                             const Tensor& bias,
                             const std::vector<std::int64_t>& scores,
                             bool first_only,
                             int row,
                             int head) {
  const auto r = static_cast<std::size_t>(row);
  const std::int64_t hidden = qkv.size(1) / 3;
  const std::int64_t column = std::int64_t{head} * heads.size;
  PlaceOfHead<Number> place;
  auto& h = place.head;
  h.stride = 3 * hidden;
  place.x = layout.offsets[r] * h.stride + column;
  place.y = (first_only ? row : layout.offsets[r]) * hidden + column;
  place.scores = scores[r] * heads.count + head * (scores[r + 1] - scores[r]);
  h.tokens = layout.length(row);
  h.queries = first_only ? 1 : h.tokens;
  h.size = heads.size;
  h.scale = score_scale(heads);
  h.window = heads.window;
  h.q = data<Number>(qkv) + place.x;
  h.k = h.q + hidden;
  h.v = h.k + hidden;
  h.q_bias = data<float>(bias) + column;
  h.k_bias = h.q_bias + hidden;
  h.v_bias = h.k_bias + hidden;
  return place;
}

// Returns where the numbers of a head are, of the first token's distance 0. `relative`: as that of
// attention(), or a gradient [rows, heads, 2 * longest - 1].
template <class Number>
kernels::Distances<Number> distances_of(
    const Layout& layout, const Heads& heads, const Tensor& relative, int row, int head) {
  if (!relative.defined()) return {};
  const std::int64_t width = relative.size(-1);
  float* const begin = data<float>(relative) + width / 2;
  if (relative.dim() < 4) {
    const std::int64_t own = relative.dim() == 3 ? std::int64_t{row} * heads.count + head : head;
    return {.of_query = begin + own * width};
  }
  const std::int64_t tokens = relative.size(2);
  const std::int64_t first = head * tokens + layout.offsets[static_cast<std::size_t>(row)];
  float* const of_query = begin + first * width;
  return {.of_query = of_query, .of_key = of_query + heads.count * tokens * width, .row = width};
}

// Returns whether this is faster than products of padded matrices in memory, which are fast where
// samples are long and of similar lengths. `number`: the type of activations.
// By attention_bench on a processor with AMX.
bool is_fused_faster(const Layout& layout, at::ScalarType number) {
  constexpr int kShort = 32;
  if (layout.longest <= kShort) return true;
  const bool is_fast_bf16 = number == at::kBFloat16 && kernels::has_bf16_instructions();
  const double advantage = is_fast_bf16 ? 2 : 1.15;  // of products in memory, for each score
  const std::int64_t padded = std::int64_t{layout.rows} * layout.longest * layout.longest;
  const std::int64_t own = score_offsets(layout, false).back();
  return advantage * static_cast<double>(own) <= static_cast<double>(padded);
}

// See attention() in functions.h. Rows that belong to no sample are 0.
Attended attend(const Layout& layout,
                const Heads& heads,
                const Tensor& qkv,
                const Tensor& bias,
                bool first_only,
                const Dropout& dropout,
                const Tensor& relative) {
  const std::vector<std::int64_t> scores = score_offsets(layout, first_only);
  const DropoutRows drops(dropout, layout);
  const std::int64_t hidden = qkv.size(1) / 3;
  Attended result;
  result.y = at::empty({first_only ? layout.rows : layout.tokens, hidden}, qkv.options());
  result.p = at::empty({scores.back() * heads.count}, qkv.options());
  result.dropped = drops.active() ? at::empty_like(result.p) : result.p;
  by_type(qkv, [&](auto tag) {
    using Number = decltype(tag);
    const auto& kernels = kernels::kernels<Number>();
    for_heads(scores, heads.count, heads.size, [&](int row, int head) {
      auto at = place_of<Number>(layout, heads, qkv, bias, scores, first_only, row, head);
      at.head.relative = distances_of<const float>(layout, heads, relative, row, head);
      const kernels::DropoutRow drop = drops.of(row, head, 0);
      typename kernels::Kernels<Number>::Attended to;
      to.y = data<Number>(result.y) + at.y;
      to.y_stride = hidden;
      to.p = data<Number>(result.p) + at.scores;
      to.dropped = drops.active() ? data<Number>(result.dropped) + at.scores : nullptr;
      to.dropout = drops.active() ? &drop : nullptr;
      kernels.attend(at.head, to, scratch_of_thread(at.head));
    });
  });
  if (!first_only) clear_rest(result.y, layout.offsets.back());
  return result;
}

AttentionGradients attend_backward(const Layout& layout,
                                   const Heads& heads,
                                   const Tensor& qkv,
                                   const Tensor& bias,
                                   bool first_only,
                                   const Attended& attended,
                                   const Tensor& dy,
                                   const std::vector<std::int64_t>& relative_sizes) {
  const std::vector<std::int64_t> scores = score_offsets(layout, first_only);
  const std::int64_t hidden = qkv.size(1) / 3;
  const std::int64_t width = 3 * hidden;
  AttentionGradients result;
  result.qkv = at::empty_like(qkv);
  Tensor relative;
  const bool of_heads = relative_sizes.size() == 2;
  if (of_heads) {
    relative = at::zeros({layout.rows, heads.count, relative_sizes[1]}, bias.options());
  } else if (!relative_sizes.empty()) {
    relative = at::zeros(relative_sizes, bias.options());
  }
  by_type(qkv, [&](auto tag) {
    using Number = decltype(tag);
    const auto& kernels = kernels::kernels<Number>();
    for_heads(scores, heads.count, heads.size, [&](int row, int head) {
      const auto at = place_of<Number>(layout, heads, qkv, bias, scores, first_only, row, head);
      typename kernels::Kernels<Number>::AttendedGradients d;
      d.dy = data<Number>(dy) + at.y;
      d.y_stride = hidden;
      d.p = data<Number>(attended.p) + at.scores;
      d.dropped = data<Number>(attended.dropped) + at.scores;
      d.dq = data<Number>(result.qkv) + at.x;
      d.dk = d.dq + hidden;
      d.dv = d.dk + hidden;
      d.relative_sum = distances_of<float>(layout, heads, relative, row, head);
      kernels.attend_backward(at.head, d, scratch_of_thread(at.head));
    });
    clear_rest(result.qkv, layout.offsets.back());
    result.bias = sum_rows(layout.offsets.back(), width,
                           [&](std::int64_t begin, std::int64_t end, float* sum) {
                             kernels.add_rows(sum, data<Number>(result.qkv) + begin * width,
                                              static_cast<int>(width), end - begin);
                           });
  });
  result.relative = of_heads ? at::sum(relative, {0}) : relative;
  return result;
}

// Keeps queries from keys outside their window, in the scores of padded matrices.
void hide_far_keys(const Tensor& scores, const kernels::Window& window) {
  if (!window.hides(static_cast<int>(scores.size(2)))) return;
  const auto places = [&](int dimension) {
    return at::arange(scores.size(dimension), scores.options().dtype(at::kLong));
  };
  const Tensor distances = places(2) - places(1).unsqueeze(1);
  const Tensor far = distances.gt(window.after).logical_or_(distances.lt(-window.before));
  scores.masked_fill_(far, -std::numeric_limits<double>::infinity());
}

// Returns no numbers for a tensor that there is not.
std::vector<std::int64_t> sizes_of(const std::optional<Tensor>& tensor) {
  return tensor ? tensor->sizes().vec() : std::vector<std::int64_t>();
}

struct FusedAttention : Function<FusedAttention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        const Heads& heads,
                        bool first_only,
                        const Dropout& dropout,
                        const std::optional<Tensor>& relative) {
    keep(ctx, layout, {}, heads);
    const Attended found =
        attend(*layout, heads, qkv, bias, first_only, dropout, relative.value_or(Tensor()));
    ctx->save_for_backward({qkv, bias, found.p, found.dropped});
    ctx->saved_data["first_only"] = first_only;
    ctx->saved_data["relative"] = sizes_of(relative);
    return found.y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto kept = kept_by(ctx);
    const AttentionGradients d = attend_backward(
        *kept->layout, kept->heads, saved[0], saved[1], ctx->saved_data["first_only"].toBool(),
        {.y = {}, .p = saved[2], .dropped = saved[3]}, gradients[0].contiguous(),
        ctx->saved_data["relative"].toIntVector());
    return {Tensor(), d.qkv, d.bias, Tensor(), Tensor(), Tensor(), d.relative};
  }
};

// Returns scores [rows * heads, queries, longest] as [rows, heads, queries, longest].
Tensor by_sample(const Tensor& scores, const Heads& heads) {
  return scores.view({-1, heads.count, scores.size(1), scores.size(2)});
}

// Its `relative` is by query and key: [heads, queries, longest], or [rows, heads, queries,
// longest].
struct PaddedAttention : Function<PaddedAttention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        const Heads& heads,
                        bool first_only,
                        const Dropout& dropout,
                        const std::optional<Tensor>& relative) {
    keep(ctx, layout, {}, heads);
    const int longest = layout->longest;
    const Parts parts =
        passes::split(*layout, heads, qkv, bias, {first_only ? 1 : longest, longest, longest});
    const Tensor& q = parts.matrices[0];
    const Tensor& k = parts.matrices[1];
    const Tensor& v = parts.matrices[2];
    const at::ScalarType number = qkv.scalar_type();
    const Tensor p = matrix_products(for_products(q), for_products(k).transpose(1, 2), number);
    hide_far_keys(p, heads.window);
    const float scale = score_scale(heads);
    if (relative) by_sample(p, heads).add_(*relative, 1 / scale);
    const Tensor dropped = passes::softmax(*layout, heads, p, scale, dropout);
    const Tensor heads_y = matrix_products(for_products(dropped), for_products(v), number);
    Tensor y = passes::merge(*layout, heads, {{heads_y}, {parts.lengths[0]}}, nullptr);
    ctx->save_for_backward({q, k, v, p, dropped});
    ctx->saved_data["relative"] = sizes_of(relative);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto kept = kept_by(ctx);
    const Layout& layout = *kept->layout;
    const Heads& heads = kept->heads;
    const Tensor& q = saved[0];
    const Tensor& k = saved[1];
    const Tensor& v = saved[2];
    const Tensor& p = saved[3];
    const Tensor& dropped = saved[4];
    const auto queries = static_cast<int>(q.size(1));
    const at::ScalarType number = p.scalar_type();
    const Tensor dy = for_products(
        passes::split(layout, heads, gradients[0].contiguous(), {}, {queries}).matrices[0]);
    const Tensor dv = matrix_products(for_products(dropped).transpose(1, 2), dy, number);
    const Tensor d_scores = matrix_products(dy, for_products(v).transpose(1, 2), number);
    const float scale = score_scale(heads);
    passes::softmax_backward(layout, heads, p, dropped, d_scores, scale);
    Tensor d_relative;
    if (const auto dimensions = ctx->saved_data["relative"].toIntVector().size(); dimensions > 0) {
      const Tensor all = by_sample(d_scores, heads).to(at::kFloat).div(scale);
      d_relative = dimensions == 3 ? at::sum(all, {0}) : all;
    }
    const Tensor d = for_products(d_scores);
    const Tensor dq = matrix_products(d, for_products(k), number);
    const Tensor dk = matrix_products(d.transpose(1, 2), for_products(q), number);
    Tensor d_bias;
    const Tensor dqkv = passes::merge(
        layout, heads, {{dq, dk, dv}, {queries, layout.longest, layout.longest}}, &d_bias);
    return {Tensor(), dqkv, d_bias, Tensor(), Tensor(), Tensor(), d_relative};
  }
};

}  // namespace

Tensor attention(const LayoutPtr& layout,
                 const Tensor& qkv,
                 const Tensor& bias,
                 int heads,
                 bool first_only,
                 const Dropout& dropout,
                 AttentionWay way,
                 const kernels::Window& window,
                 const Tensor& relative) {
  const bool of_tokens = relative.defined() && relative.dim() == 4;
  const Heads own{.count = heads,
                  .size = static_cast<int>(qkv.size(1) / 3 / heads),
                  .window = window,
                  .terms = of_tokens ? kDisentangledTerms : 1};
  // Padded matrices have the scores outside the window, too.
  const bool is_faster = qkv.is_cpu() && (window.hides(layout->longest) ||
                                          is_fused_faster(*layout, qkv.scalar_type()));
  const bool fused = way == AttentionWay::fused || (way == AttentionWay::faster && is_faster);
  // An undefined tensor can only be passed as an empty optional.
  std::optional<Tensor> added;
  if (fused && relative.defined()) added = relative;
  if (!fused && of_tokens) added = by_pair(relative, *layout, first_only);
  if (!fused && relative.defined() && !of_tokens) added = by_query(relative, first_only);
  return fused ? FusedAttention::apply(layout, qkv, bias, own, first_only, dropout, added)
               : PaddedAttention::apply(layout, qkv, bias, own, first_only, dropout, added);
}

}  // namespace bp::trainer
