// Attention, in one of two ways: in the cache, head by head, or as batched products of small
// matrices, one per sample and head, with one fused pass for scale, softmax and dropout between
// them. Only these matrices pad samples, with zero rows.
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
#include <vector>

#include <c10/core/ScalarType.h>

#include "trainer/model/passes/functions.h"
#include "trainer/model/passes/kept_layout.h"
#include "trainer/model/passes/layout.h"
#include "trainer/model/passes/passes.h"
#include "trainer/model/passes/products.h"
#include "trainer/model/passes/rows.h"
#include "trainer/model/relative_positions.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Where the probabilities of each sample begin, in numbers of one head; the last is their sum.
std::vector<std::int64_t> score_offsets(const Layout& layout, bool first_only) {
  std::vector<std::int64_t> offsets = {0};
  for (int row = 0; row < layout.rows; ++row) {
    const std::int64_t length = layout.length(row);
    offsets.push_back(offsets.back() + (first_only ? length : length * length));
  }
  return offsets;
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

// What fused attention reads.
struct FusedInput {
  const Layout& layout;
  const Heads& heads;
  const Tensor& qkv;
  const Tensor& bias;
  std::vector<std::int64_t> scores = score_offsets(layout, heads.first_only);
  std::int64_t hidden = qkv.size(1) / 3;

  // Runs body(row, head) in parallel. Threads get about the same number of scores, because samples
  // differ in length.
  template <class Body>
  void for_heads(const Body& body) const {
    const int count = heads.count;
    const auto of_thread = [&](std::int64_t begin, std::int64_t end) {
      // The head with a score in `begin` belongs to the thread that has its first one.
      auto row = std::ranges::upper_bound(scores, begin / count) - scores.begin() - 1;
      for (; row + 1 < std::ssize(scores); ++row) {
        const std::int64_t own = scores[row + 1] - scores[row];
        for (int head = 0; head < count; ++head) {
          const std::int64_t first = scores[row] * count + head * own;
          if (first >= end) return;
          if (first >= begin) body(static_cast<int>(row), head);
        }
      }
    };
    constexpr std::int64_t kGrain = 32768;  // multiplications of a product
    at::parallel_for(0, scores.back() * count, kGrain / heads.size + 1, of_thread);
  }

  template <class Number>
  [[nodiscard]] PlaceOfHead<Number> place(int row, int head) const {
    const auto r = static_cast<std::size_t>(row);
    const std::int64_t column = std::int64_t{head} * heads.size;
    PlaceOfHead<Number> place;
    auto& h = place.head;
    h.stride = 3 * hidden;
    place.x = layout.offsets[r] * h.stride + column;
    place.y = (heads.first_only ? row : layout.offsets[r]) * hidden + column;
    place.scores = scores[r] * heads.count + head * (scores[r + 1] - scores[r]);
    h.tokens = layout.length(row);
    h.queries = heads.first_only ? 1 : h.tokens;
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

  // Returns where the numbers of a head are, of the first token's distance 0. `relative`: as that
  // of attention(), or a gradient [rows, heads, 2 * longest - 1].
  template <class Number>
  [[nodiscard]] kernels::Distances<Number> distances(const Tensor& relative,
                                                     int row,
                                                     int head) const {
    if (!relative.defined()) return {};
    const std::int64_t width = relative.size(-1);
    float* const begin = data<float>(relative) + width / 2;
    if (!heads.disentangled) {
      const std::int64_t own = relative.dim() == 3 ? std::int64_t{row} * heads.count + head : head;
      return {.of_query = begin + own * width};
    }
    const std::int64_t tokens = layout.tokens;
    const std::int64_t first = head * tokens + layout.offsets[static_cast<std::size_t>(row)];
    float* const of_query = begin + first * width;
    return {.of_query = of_query, .of_key = of_query + heads.count * tokens * width, .row = width};
  }
};

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

// Rows that belong to no sample are 0.
struct FusedAttention : Function<FusedAttention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        const Heads& heads,
                        const Dropout& dropout,
                        const std::optional<Tensor>& relative) {
    const FusedInput in{.layout = *layout, .heads = heads, .qkv = qkv, .bias = bias};
    const DropoutRows drops(dropout, *layout);
    const Tensor numbers = relative.value_or(Tensor());
    Tensor y =
        at::empty({heads.first_only ? layout->rows : layout->tokens, in.hidden}, qkv.options());
    // Probabilities [queries, keys] of each head, sample by sample, and the same after dropout.
    const Tensor p = at::empty({in.scores.back() * heads.count}, qkv.options());
    const Tensor dropped = drops.active() ? at::empty_like(p) : p;
    by_type(qkv, [&](auto tag) {
      using Number = decltype(tag);
      const auto& kernels = kernels::kernels<Number>();
      in.for_heads([&](int row, int head) {
        auto at = in.place<Number>(row, head);
        at.head.relative = in.distances<const float>(numbers, row, head);
        const kernels::DropoutRow drop = drops.of(row, head, 0);
        typename kernels::Kernels<Number>::Attended to;
        to.y = data<Number>(y) + at.y;
        to.y_stride = in.hidden;
        to.p = data<Number>(p) + at.scores;
        to.dropped = drops.active() ? data<Number>(dropped) + at.scores : nullptr;
        to.dropout = drops.active() ? &drop : nullptr;
        kernels.attend(at.head, to, scratch_of_thread(at.head));
      });
    });
    if (!heads.first_only) clear_rest(y, layout->offsets.back());
    keep(ctx, layout, {}, heads);
    ctx->save_for_backward({qkv, bias, p, dropped});
    ctx->saved_data["relative"] = relative.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto kept = kept_by(ctx);
    const Layout& layout = *kept->layout;
    const Heads& heads = kept->heads;
    const FusedInput in{.layout = layout, .heads = heads, .qkv = saved[0], .bias = saved[1]};
    const Tensor dy = gradients[0].contiguous();
    const Tensor dqkv = at::empty_like(in.qkv);
    const std::int64_t width = 3 * in.hidden;
    const std::int64_t distances = 2 * layout.longest - 1;
    const bool has_relative = ctx->saved_data["relative"].toBool();
    Tensor relative;
    if (has_relative && heads.disentangled) {
      relative = at::zeros({2, heads.count, layout.tokens, distances}, in.bias.options());
    } else if (has_relative) {
      relative = at::zeros({layout.rows, heads.count, distances}, in.bias.options());
    }
    Tensor d_bias;
    by_type(in.qkv, [&](auto tag) {
      using Number = decltype(tag);
      const auto& kernels = kernels::kernels<Number>();
      in.for_heads([&](int row, int head) {
        const auto at = in.place<Number>(row, head);
        typename kernels::Kernels<Number>::AttendedGradients d;
        d.dy = data<Number>(dy) + at.y;
        d.y_stride = in.hidden;
        d.p = data<Number>(saved[2]) + at.scores;
        d.dropped = data<Number>(saved[3]) + at.scores;
        d.dq = data<Number>(dqkv) + at.x;
        d.dk = d.dq + in.hidden;
        d.dv = d.dk + in.hidden;
        d.relative_sum = in.distances<float>(relative, row, head);
        kernels.attend_backward(at.head, d, scratch_of_thread(at.head));
      });
      clear_rest(dqkv, layout.offsets.back());
      d_bias = sum_rows(layout.offsets.back(), width,
                        [&](std::int64_t begin, std::int64_t end, float* sum) {
                          kernels.add_rows(sum, data<Number>(dqkv) + begin * width,
                                           static_cast<int>(width), end - begin);
                        });
    });
    if (has_relative && !heads.disentangled) relative = at::sum(relative, {0});
    return {Tensor(), dqkv, d_bias, Tensor(), Tensor(), relative};
  }
};

// Returns scores [rows * heads, queries, longest] as [rows, heads, queries, longest].
Tensor by_sample(const Tensor& scores, const Heads& heads) {
  return scores.view({-1, heads.count, scores.size(1), scores.size(2)});
}

// Its `relative` is that of by_pair().
struct PaddedAttention : Function<PaddedAttention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        const Heads& heads,
                        const Dropout& dropout,
                        const std::optional<Tensor>& relative) {
    keep(ctx, layout, {}, heads);
    const int longest = layout->longest;
    const Parts parts = passes::split(*layout, heads, qkv, bias,
                                      {heads.first_only ? 1 : longest, longest, longest});
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
    ctx->saved_data["relative"] = relative.has_value();
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
    if (ctx->saved_data["relative"].toBool()) {
      const Tensor all = by_sample(d_scores, heads).to(at::kFloat).div(scale);
      d_relative = heads.disentangled ? all : at::sum(all, {0});
    }
    const Tensor d = for_products(d_scores);
    const Tensor dq = matrix_products(d, for_products(k), number);
    const Tensor dk = matrix_products(d.transpose(1, 2), for_products(q), number);
    Tensor d_bias;
    const Tensor dqkv = passes::merge(
        layout, heads, {{dq, dk, dv}, {queries, layout.longest, layout.longest}}, &d_bias);
    return {Tensor(), dqkv, d_bias, Tensor(), Tensor(), d_relative};
  }
};

}  // namespace

Tensor attention(const LayoutPtr& layout,
                 const Tensor& qkv,
                 const Tensor& bias,
                 const Heads& heads,
                 const Dropout& dropout,
                 const Tensor& relative,
                 AttentionWay way) {
  // Padded matrices have the scores outside the window, too.
  const bool is_faster = qkv.is_cpu() && (heads.window.hides(layout->longest) ||
                                          is_fused_faster(*layout, qkv.scalar_type()));
  const bool fused = way == AttentionWay::fused || (way == AttentionWay::faster && is_faster);
  // An undefined tensor can only be passed as an empty optional.
  std::optional<Tensor> added;
  if (relative.defined()) added = fused ? relative : by_pair(relative, *layout, heads);
  return fused ? FusedAttention::apply(layout, qkv, bias, heads, dropout, added)
               : PaddedAttention::apply(layout, qkv, bias, heads, dropout, added);
}

}  // namespace bp::trainer
