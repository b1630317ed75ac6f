// 300 lines: the autograd Functions in sequence, each with a forward, a backward and an entry
// point.
#include "trainer/model/functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "trainer/model/products.h"
#include "trainer/model/rows.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// What a Function keeps for its backward pass besides tensors.
struct KeptLayout : torch::CustomClassHolder {
  LayoutPtr layout;
  Dropout dropout;
};

void keep(AutogradContext* ctx, const LayoutPtr& layout, const Dropout& dropout) {
  auto kept = c10::make_intrusive<KeptLayout>();
  kept->layout = layout;
  kept->dropout = dropout;
  ctx->saved_data["kept"] = c10::IValue::make_capsule(std::move(kept));
}

c10::intrusive_ptr<KeptLayout> kept_by(AutogradContext* ctx) {
  return c10::dynamic_intrusive_pointer_cast<KeptLayout>(ctx->saved_data["kept"].toCapsule());
}

// Returns zeros that all threads write, because a vocabulary has millions of numbers.
Tensor zero_rows(std::int64_t rows, std::int64_t width) {
  Tensor zeros = at::empty({rows, width}, at::kFloat);
  auto* to = zeros.data_ptr<float>();
  for_rows(rows, width, [&](std::int64_t begin, std::int64_t end) {
    std::fill(to + begin * width, to + end * width, 0.0F);
  });
  return zeros;
}

struct Embed : Function<Embed> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& token_ids,
                        const Tensor& token_types,
                        const Tensor& word,
                        const Tensor& position,
                        const Tensor& type,
                        at::ScalarType number) {
    keep(ctx, layout, {});
    ctx->save_for_backward({token_ids, token_types});
    ctx->saved_data["words"] = word.size(0);
    ctx->saved_data["positions"] = position.size(0);
    ctx->saved_data["types"] = type.size(0);
    const std::int64_t width = word.size(1);
    Tensor out = at::empty({layout->tokens, width}, number);
    const auto* ids = token_ids.const_data_ptr<std::int64_t>();
    const auto* words = word.const_data_ptr<float>();
    const auto* positions = position.const_data_ptr<float>();
    const auto* types = type.const_data_ptr<float>();
    const auto* type_of_token = token_types.const_data_ptr<std::int64_t>();
    by_type(out, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      auto* to = data<Number>(out);
      for_rows(layout->tokens, width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const std::int32_t row = layout->row_of_token[static_cast<std::size_t>(t)];
          if (row < 0) {
            std::memset(to + t * width, 0, static_cast<std::size_t>(width) * sizeof(Number));
            continue;
          }
          const std::int64_t place = t - layout->offsets[static_cast<std::size_t>(row)];
          k.embed(to + t * width, words + ids[t] * width, positions + place * width,
                  types + type_of_token[t] * width, static_cast<int>(width));
        }
      });
    });
    return out;
  }

  // Threads divide the columns: one thread adds up each number, in the order of the tokens, so the
  // sums do not depend on the number of threads.
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const Layout& layout = *kept_by(ctx)->layout;
    const Tensor d_out = gradients[0].contiguous().to(at::kFloat);
    const std::int64_t width = d_out.size(1);
    Tensor d_word = zero_rows(ctx->saved_data["words"].toInt(), width);
    Tensor d_position = at::zeros({ctx->saved_data["positions"].toInt(), width}, at::kFloat);
    Tensor d_type = at::zeros({ctx->saved_data["types"].toInt(), width}, at::kFloat);
    const variable_list saved = ctx->get_saved_variables();
    const auto* ids = saved[0].const_data_ptr<std::int64_t>();
    const auto* type_of_token = saved[1].const_data_ptr<std::int64_t>();
    const auto* from = d_out.const_data_ptr<float>();
    auto* words = d_word.data_ptr<float>();
    auto* positions = d_position.data_ptr<float>();
    auto* types = d_type.data_ptr<float>();
    const std::int64_t tokens = layout.offsets.back();
    for_columns(width, tokens, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const auto row = static_cast<std::size_t>(layout.row_of_token[static_cast<std::size_t>(t)]);
        float* word = words + ids[t] * width;
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
    return {Tensor(), Tensor(), Tensor(), d_word, d_position, d_type, Tensor()};
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
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& bias) {
    ctx->save_for_backward({x, bias});
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
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor& x = saved[0];
    const Tensor dy = gradients[0].contiguous();
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
                              data<Number>(x) + t * width, data<float>(saved[1]),
                              static_cast<int>(width));
            }
          });
    });
    return {dx, d_bias};
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
    const std::int64_t width = x.size(1);
    Tensor z = at::empty_like(x);
    Tensor y = at::empty_like(x);
    Tensor mean = at::empty({x.size(0)}, at::kFloat);
    Tensor rstd = at::empty({x.size(0)}, at::kFloat);
    const DropoutRows drops(dropout, *layout);
    by_type(x, [&](auto tag) {
      using Number = decltype(tag);
      const auto& k = kernels::kernels<Number>();
      for_rows(x.size(0), width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
          const kernels::DropoutRow drop = drops.of(t);
          typename kernels::Kernels<Number>::AddNorm row;
          row.z = data<Number>(z) + t * width;
          row.y = data<Number>(y) + t * width;
          row.mean = data<float>(mean) + t;
          row.rstd = data<float>(rstd) + t;
          row.x = data<Number>(x) + t * width;
          row.bias = data<float>(bias);
          row.residual = residual.defined() ? data<Number>(residual) + t * width : nullptr;
          row.gamma = data<float>(gamma);
          row.beta = data<float>(beta);
          row.dropout = drops.active() ? &drop : nullptr;
          row.width = static_cast<int>(width);
          row.epsilon = static_cast<float>(epsilon);
          k.add_norm(row);
        }
      });
    });
    keep(ctx, layout, dropout);
    ctx->save_for_backward({z, mean, rstd, gamma});
    ctx->saved_data["bias"] = bias.defined();
    ctx->saved_data["residual"] = residual.defined();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Tensor& z = saved[0];
    const Tensor dy = gradients[0].contiguous();
    const auto kept = kept_by(ctx);
    const DropoutRows drops(kept->dropout, *kept->layout);
    const bool has_bias = ctx->saved_data["bias"].toBool();
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
          row.gamma = data<float>(saved[3]);
          row.dropout = drops.active() ? &drop : nullptr;
          row.width = static_cast<int>(width);
          row.mean = data<float>(saved[1])[t];
          row.rstd = data<float>(saved[2])[t];
          k.add_norm_backward(row);
        }
      });
    });
    return {Tensor(),
            dx,
            has_bias ? sums.slice(0, 2 * width) : Tensor(),
            ctx->saved_data["residual"].toBool() ? dz : Tensor(),
            sums.slice(0, 0, width),
            sums.slice(0, width, 2 * width),
            Tensor(),
            Tensor()};
  }
};

struct Drop : Function<Drop> {
  static Tensor apply_to(const LayoutPtr& layout, const Tensor& x, const Dropout& dropout) {
    Tensor y = at::empty_like(x);
    const std::int64_t width = x.size(1);
    const DropoutRows drops(dropout, *layout);
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
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& x,
                        const Dropout& dropout) {
    keep(ctx, layout, dropout);
    return apply_to(layout, x, dropout);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto kept = kept_by(ctx);
    return {Tensor(), apply_to(kept->layout, gradients[0].contiguous(), kept->dropout), Tensor()};
  }
};

}  // namespace

Tensor embed(const LayoutPtr& layout,
             const Tensor& token_ids,
             const Tensor& token_types,
             const Tensor& word,
             const Tensor& position,
             const Tensor& type,
             at::ScalarType number) {
  return Embed::apply(layout, token_ids, token_types, word, position, type, number);
}

Tensor product(const Tensor& x, const Weight& weight) {
  return Product::apply(x, weight.master, weight.compute);
}

Tensor add_columns(const Tensor& x, const Tensor& part, std::int64_t begin, double scale) {
  return AddColumns::apply(x, part, begin, scale);
}

Tensor bias_gelu(const Tensor& x, const Tensor& bias) { return BiasGelu::apply(x, bias); }

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

Tensor drop(const LayoutPtr& layout, const Tensor& x, const Dropout& dropout) {
  return dropout.share > 0 ? Drop::apply(layout, x, dropout) : x;
}

}  // namespace bp::trainer
