// The autograd Functions between two products, each with a forward, a backward and an entry point.
#include "trainer/model/passes/functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/chunk.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/kept_layout.h"
#include "trainer/model/passes/passes.h"
#include "trainer/model/passes/products.h"
#include "trainer/model/passes/rows.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Embed : Function<Embed> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& token_ids,
                        const Tensor& token_types,
                        const Tensor& word,
                        const Tensor& position,
                        const Tensor& type,
                        bool sparse_words,
                        at::ScalarType number) {
    keep(ctx, layout, {});
    ctx->save_for_backward({token_ids, token_types});
    ctx->saved_data["sparse_words"] = sparse_words;
    ctx->saved_data["words"] = word.size(0);
    ctx->saved_data["positions"] = position.size(0);
    ctx->saved_data["types"] = type.size(0);
    return passes::embed(*layout, token_ids, token_types, {word, position, type}, number);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const Tensor d_out = gradients[0].contiguous().to(at::kFloat);
    const variable_list saved = ctx->get_saved_variables();
    const EmbedGradients d = passes::embed_backward(
        *kept_by(ctx)->layout, saved[0], saved[1], d_out,
        {ctx->saved_data["words"].toInt(), ctx->saved_data["positions"].toInt(),
         ctx->saved_data["types"].toInt(), ctx->saved_data["sparse_words"].toBool()});
    return {Tensor(), Tensor(), Tensor(), d.word, d.position, d.type, Tensor(), Tensor()};
  }
};

struct Product : Function<Product> {
  static Tensor forward(AutogradContext* ctx,
                        const Tensor& x,
                        const Tensor& /*master*/,
                        const Tensor& compute) {
    ctx->save_for_backward({x, compute});
    return matrix_product(for_products(x), compute.t(), x.scalar_type());
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor dy = for_products(gradients[0]);
    // The search for a perturbation needs no gradient of the weights.
    constexpr std::size_t kMaster = 1;
    return {matrix_product(dy, saved[1], x.scalar_type()),
            ctx->needs_input_grad(kMaster) ? matrix_product(dy.t(), for_products(x), at::kFloat)
                                           : Tensor(),
            Tensor()};
  }
};

// In place: a copy of a product's outputs for each adapter would take longer than the adapter.
struct AddColumns : Function<AddColumns> {
  static Tensor forward(
      AutogradContext* ctx, const Tensor& x, const Tensor& part, std::int64_t begin, double scale) {
    ctx->saved_data["begin"] = begin;
    ctx->saved_data["width"] = part.size(1);
    ctx->saved_data["scale"] = scale;
    ctx->mark_dirty({x});
    x.narrow(1, begin, part.size(1)).add_(part, scale);
    return x;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const Tensor& dx = gradients[0];
    const Tensor columns =
        dx.narrow(1, ctx->saved_data["begin"].toInt(), ctx->saved_data["width"].toInt());
    return {dx, columns * ctx->saved_data["scale"].toDouble(), Tensor(), Tensor()};
  }
};

struct BiasGelu : Function<BiasGelu> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& bias, bool by_tanh) {
    ctx->save_for_backward({x, bias});
    ctx->saved_data["by_tanh"] = by_tanh;
    return passes::gelu(x, bias, by_tanh);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const auto [dx, d_bias] = passes::gelu_backward(gradients[0].contiguous(), saved[0], saved[1],
                                                    ctx->saved_data["by_tanh"].toBool());
    return {dx, d_bias, Tensor()};
  }
};

struct GatedGelu : Function<GatedGelu> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    const std::int64_t width = x.size(1) / 2;
    Tensor y = at::empty({x.size(0), width}, x.options());
    for_each_row(x, [&](auto tag, const auto& k, std::int64_t t) {
      using Number = decltype(tag);
      k.gated_gelu(data<Number>(y) + t * width, data<Number>(x) + t * 2 * width,
                   static_cast<int>(width));
    });
    return y;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const Tensor x = ctx->get_saved_variables()[0];
    const Tensor dy = gradients[0].contiguous();
    const std::int64_t width = dy.size(1);
    Tensor dx = at::empty_like(x);
    for_each_row(x, [&](auto tag, const auto& k, std::int64_t t) {
      using Number = decltype(tag);
      k.gated_gelu_backward(data<Number>(dx) + t * 2 * width, data<Number>(dy) + t * width,
                            data<Number>(x) + t * 2 * width, static_cast<int>(width));
    });
    return {dx};
  }
};

struct AddNorm : Function<AddNorm> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& x,
                        const std::optional<Tensor>& maybe_bias,
                        const std::optional<Tensor>& maybe_residual,
                        const Tensor& gamma,
                        const Tensor& beta,
                        double epsilon,
                        const Dropout& dropout) {
    const Tensor bias = maybe_bias.value_or(Tensor());
    const Tensor residual = maybe_residual.value_or(Tensor());
    const Normed normed =
        passes::add_norm(*layout, x, bias, residual, {gamma, beta, epsilon}, dropout);
    keep(ctx, layout, dropout);
    ctx->save_for_backward({normed.z, normed.mean, normed.rstd, gamma});
    ctx->saved_data["bias"] = bias.defined();
    ctx->saved_data["residual"] = residual.defined();
    return normed.y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Normed normed{{}, saved[0], saved[1], saved[2]};
    const auto kept = kept_by(ctx);
    const NormGradients d =
        passes::add_norm_backward(*kept->layout, gradients[0].contiguous(), normed, saved[3],
                                  ctx->saved_data["bias"].toBool(), kept->dropout);
    return {Tensor(), d.dx,   d.bias,   ctx->saved_data["residual"].toBool() ? d.dz : Tensor(),
            d.gamma,  d.beta, Tensor(), Tensor()};
  }
};

struct Drop : Function<Drop> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& x,
                        const Dropout& dropout) {
    keep(ctx, layout, dropout);
    return passes::drop(*layout, x, dropout);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto kept = kept_by(ctx);
    const Tensor dy = gradients[0].contiguous();
    return {Tensor(), passes::drop(*kept->layout, dy, kept->dropout), Tensor()};
  }
};

// Returns the number of each sample's first token, i64 [rows], on the layout's device.
Tensor numbers_of_firsts(const Layout& layout) {
  if (layout.on_device) return layout.on_device->firsts;
  auto* const firsts = const_cast<std::int64_t*>(layout.offsets.data());
  return at::from_blob(firsts, {layout.rows}, at::kLong).clone();
}

}  // namespace

Tensor embed(const LayoutPtr& layout,
             const Tensor& token_ids,
             const Tensor& token_types,
             const Tensor& word,
             const Tensor& position,
             const Tensor& type,
             bool sparse_words,
             at::ScalarType number) {
  return Embed::apply(layout, token_ids, token_types, word, position, type, sparse_words, number);
}

Tensor product(const Tensor& x, const Weight& weight) {
  return Product::apply(x, weight.master,
                        weight.compute.defined() ? weight.compute : weight.master.detach());
}

Tensor add_columns(const Tensor& x, const Tensor& part, std::int64_t begin, double scale) {
  return AddColumns::apply(x, part, begin, scale);
}

Tensor bias_gelu(const Tensor& x, const Tensor& bias, bool by_tanh) {
  return BiasGelu::apply(x, bias, by_tanh);
}

Tensor gated_gelu(const Tensor& x) {
  if (x.is_cpu()) return GatedGelu::apply(x);
  const variable_list halves = at::chunk(x, 2, 1);
  return at::gelu(halves[0]) * halves[1];
}

Tensor add_norm(const LayoutPtr& layout,
                const Tensor& x,
                const Tensor& bias,
                const Tensor& residual,
                const Norm& norm,
                const Dropout& dropout) {
  // An undefined tensor can only be passed as an empty optional.
  const auto maybe = [](const Tensor& t) { return t.defined() ? std::optional(t) : std::nullopt; };
  return AddNorm::apply(layout, x, maybe(bias), maybe(residual), norm.gamma, norm.beta,
                        norm.epsilon, dropout);
}

Tensor firsts_of(const Tensor& states, const Layout& layout) {
  return at::index_select(states, 0, numbers_of_firsts(layout));
}

Tensor at_firsts(const Tensor& firsts, const Layout& layout) {
  return at::zeros({layout.tokens, firsts.size(1)}, firsts.options())
      .index_copy(0, numbers_of_firsts(layout), firsts);
}

Tensor means_of(const Tensor& states, const Layout& layout) {
  std::vector<Tensor> means;
  for (int row = 0; row < layout.rows; ++row) {
    const std::int64_t begin = layout.offsets[static_cast<std::size_t>(row)];
    means.push_back(states.narrow(0, begin, layout.length(row)).to(at::kFloat).mean(0));
  }
  return at::stack(means);
}

Tensor drop(const LayoutPtr& layout, const Tensor& x, const Dropout& dropout) {
  return dropout.share > 0 ? Drop::apply(layout, x, dropout) : x;
}

}  // namespace bp::trainer
