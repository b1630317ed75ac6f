#include "trainer/train/loop/host_casts.h"

#include <ATen/core/grad_mode.h>

#include <cstddef>
#include <cstdint>

#include "bp/collective.h"
#include "comm/torch/shared_room.h"
#include "trainer/model/passes/products.h"

namespace bp::trainer {

void HostCasts::operator()(const std::vector<Weight*>& weights, at::ScalarType number) {
  const at::NoGradGuard no_grad;
  make_room(weights, number);
  for (Weight* const weight : weights) {
    weight->compute = casts_.at(weight);
    const Block rows = block_of(static_cast<std::size_t>(weight->master.size(0)),
                                owners_.local().size(), owners_.local_rank());
    const auto own = [&rows](const at::Tensor& matrix) {
      return matrix.detach().narrow(0, static_cast<std::int64_t>(rows.offset),
                                    static_cast<std::int64_t>(rows.count));
    };
    own(weight->compute).copy_(weight_for_products(own(weight->master), number));
  }
  barrier(owners_.local(), {.name = "weights are cast"});
}

void HostCasts::make_room(const std::vector<Weight*>& weights, at::ScalarType number) {
  const auto like = [number](const Weight* weight) {
    return weight_for_products(weight->master.narrow(0, 0, 0), number);
  };
  std::size_t bytes = 0;
  for (const Weight* const weight : weights) {
    if (!casts_.contains(weight)) bytes += SharedRoom::of(like(weight), weight->master.numel());
  }
  if (bytes == 0) return;
  SharedRoom room(owners_.local(), bytes);
  for (const Weight* const weight : weights) {
    if (casts_.contains(weight)) continue;
    casts_[weight] = room.take(like(weight), weight->master.numel()).view(weight->master.sizes());
  }
}

}  // namespace bp::trainer
