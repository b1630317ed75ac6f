// Attention, in one of two ways: in the cache, head by head (fused_attention.h), or as batched
// products of small matrices, one per sample and head, with one fused pass for scale, softmax and
// dropout between them. Only these matrices pad samples, with zero rows.
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "trainer/model/functions.h"
#include "trainer/model/fused_attention.h"
#include "trainer/model/passes.h"
#include "trainer/model/products.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Heads heads_of(const Tensor& qkv, int count) {
  return {count, static_cast<int>(qkv.size(1) / 3 / count)};
}

struct KeptHeads : torch::CustomClassHolder {
  LayoutPtr layout;
  Heads heads;
};

const KeptHeads& keep(AutogradContext* ctx, const LayoutPtr& layout, const Heads& heads) {
  auto kept = c10::make_intrusive<KeptHeads>();
  kept->layout = layout;
  kept->heads = heads;
  const KeptHeads& result = *kept;
  ctx->saved_data["kept"] = c10::IValue::make_capsule(std::move(kept));
  return result;
}

c10::intrusive_ptr<KeptHeads> kept_by(AutogradContext* ctx) {
  return c10::dynamic_intrusive_pointer_cast<KeptHeads>(ctx->saved_data["kept"].toCapsule());
}

struct FusedAttention : Function<FusedAttention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        int count,
                        bool first_only,
                        const Dropout& dropout) {
    const KeptHeads& kept = keep(ctx, layout, heads_of(qkv, count));
    const Attended found = attend(*layout, kept.heads, qkv, bias, first_only, dropout);
    ctx->save_for_backward({qkv, bias, found.p, found.dropped});
    ctx->saved_data["first_only"] = first_only;
    return found.y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto kept = kept_by(ctx);
    const AttentionGradients d = attend_backward(
        *kept->layout, kept->heads, saved[0], saved[1], ctx->saved_data["first_only"].toBool(),
        {{}, saved[2], saved[3]}, gradients[0].contiguous());
    return {Tensor(), d.qkv, d.bias, Tensor(), Tensor(), Tensor()};
  }
};

struct PaddedAttention : Function<PaddedAttention> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Tensor& bias,
                        int count,
                        bool first_only,
                        const Dropout& dropout) {
    const Heads& heads = keep(ctx, layout, heads_of(qkv, count)).heads;
    const int longest = layout->longest;
    const Passes& passes = passes_of(qkv);
    const Parts parts =
        passes.split(*layout, heads, qkv, bias, {first_only ? 1 : longest, longest, longest});
    const Tensor& q = parts.matrices[0];
    const Tensor& k = parts.matrices[1];
    const Tensor& v = parts.matrices[2];
    const at::ScalarType number = qkv.scalar_type();
    const Tensor p = matrix_products(for_products(q), for_products(k).transpose(1, 2), number);
    const float scale = score_scale(heads);
    const Tensor dropped = passes.softmax(*layout, heads, p, scale, dropout);
    const Tensor heads_y = matrix_products(for_products(dropped), for_products(v), number);
    const Tensor y = passes.merge(*layout, heads, {{heads_y}, {parts.lengths[0]}}, nullptr);
    ctx->save_for_backward({q, k, v, p, dropped});
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
    const Passes& passes = passes_of(p);
    const at::ScalarType number = p.scalar_type();
    const Tensor dy = for_products(
        passes.split(layout, heads, gradients[0].contiguous(), {}, {queries}).matrices[0]);
    const Tensor dv = matrix_products(for_products(dropped).transpose(1, 2), dy, number);
    const Tensor d_scores = matrix_products(dy, for_products(v).transpose(1, 2), number);
    const float scale = score_scale(heads);
    passes.softmax_backward(layout, heads, p, dropped, d_scores, scale);
    const Tensor d = for_products(d_scores);
    const Tensor dq = matrix_products(d, for_products(k), number);
    const Tensor dk = matrix_products(d.transpose(1, 2), for_products(q), number);
    Tensor d_bias;
    const Tensor dqkv = passes.merge(
        layout, heads, {{dq, dk, dv}, {queries, layout.longest, layout.longest}}, &d_bias);
    return {Tensor(), dqkv, d_bias, Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor attention(const LayoutPtr& layout,
                 const Tensor& qkv,
                 const Tensor& bias,
                 int heads,
                 bool first_only,
                 const Dropout& dropout,
                 AttentionWay way) {
  const bool is_faster = qkv.is_cpu() && is_fused_faster(*layout, qkv.scalar_type());
  const bool fused = way == AttentionWay::fused || (way == AttentionWay::faster && is_faster);
  return fused ? FusedAttention::apply(layout, qkv, bias, heads, first_only, dropout)
               : PaddedAttention::apply(layout, qkv, bias, heads, first_only, dropout);
}

}  // namespace bp::trainer
