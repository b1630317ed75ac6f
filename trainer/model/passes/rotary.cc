#include "trainer/model/passes/rotary.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/kept_layout.h"
#include "trainer/model/passes/rows.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// `sign`: -1 rotates back.
Tensor rotated(const Layout& layout, const Tensor& qkv, const Rotation& rotation, float sign) {
  const std::int64_t hidden = qkv.size(1) / 3;
  const std::int64_t half = rotation.cosines.size(1);
  Tensor y = at::empty_like(qkv);
  for_each_row(qkv, [&](auto tag, const auto& k, std::int64_t t) {
    using Number = decltype(tag);
    const std::int64_t angles = layout.place_of_token[static_cast<std::size_t>(t)] * half;
    const Number* const from = data<Number>(qkv) + t * 3 * hidden;
    Number* const to = data<Number>(y) + t * 3 * hidden;
    k.rotate({.to = to,
              .from = from,
              .cosines = data<float>(rotation.cosines) + angles,
              .sines = data<float>(rotation.sines) + angles,
              .sign = sign,
              .heads = static_cast<int>(hidden / half),  // those of queries and of keys
              .size = static_cast<int>(2 * half)});
    std::copy(from + 2 * hidden, from + 3 * hidden, to + 2 * hidden);
  });
  return y;
}

struct Rotate : Function<Rotate> {
  static Tensor forward(AutogradContext* ctx,
                        const LayoutPtr& layout,
                        const Tensor& qkv,
                        const Rotation& rotation) {
    keep(ctx, layout, {});
    ctx->save_for_backward({rotation.cosines, rotation.sines});
    return rotated(*layout, qkv, rotation, 1);
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const Rotation rotation{.cosines = saved[0], .sines = saved[1]};
    return {Tensor(), rotated(*kept_by(ctx)->layout, gradients[0].contiguous(), rotation, -1),
            Tensor()};
  }
};

Tensor rotate_on_device(const Layout& layout, const Tensor& qkv, const Rotation& rotation) {
  const std::int64_t hidden = qkv.size(1) / 3;
  const std::int64_t half = rotation.cosines.size(1);
  const auto of_tokens = [&](const Tensor& table) {
    return at::index_select(table, 0, layout.on_device->place_of_token).unsqueeze(1);
  };
  const Tensor cosines = of_tokens(rotation.cosines);
  const Tensor sines = of_tokens(rotation.sines);
  const Tensor halves =
      qkv.narrow(1, 0, 2 * hidden).to(at::kFloat).view({layout.tokens, hidden / half, 2, half});
  const Tensor a = halves.select(2, 0);
  const Tensor b = halves.select(2, 1);
  const Tensor y = at::stack({a * cosines - b * sines, b * cosines + a * sines}, 2);
  return at::cat({y.view({layout.tokens, 2 * hidden}).to(qkv.scalar_type()),
                  qkv.narrow(1, 2 * hidden, hidden)},
                 1);
}

}  // namespace

// In fp32 and in this order, as transformers: at far places the angles differ in their last bits
// otherwise.
Tensor rotary_angles(double base, std::int64_t head_size) {
  return at::pow(base, at::arange(0, head_size, 2, at::kFloat) / head_size).reciprocal();
}

Rotation make_rotation(const Tensor& angles, std::int64_t places, c10::Device device) {
  const Tensor all = at::outer(at::arange(places, at::kFloat), angles);
  return {.cosines = all.cos().to(device), .sines = all.sin().to(device)};
}

Tensor rotate(const LayoutPtr& layout, const Tensor& qkv, const Rotation& rotation) {
  return qkv.is_cpu() ? Rotate::apply(layout, qkv, rotation)
                      : rotate_on_device(*layout, qkv, rotation);
}

}  // namespace bp::trainer
