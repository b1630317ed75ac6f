// The casts of weights that products use (Encoder::cast_by()), once for all ranks of a host that
// share its weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <vector>

#include <c10/core/ScalarType.h>

#include "bp/communicator.h"
#include "comm/torch/owners.h"
#include "trainer/model/passes/functions.h"

namespace bp::trainer {

class HostCasts {
 public:
  // Collective of all ranks. `world` must outlive this object.
  explicit HostCasts(Communicator& world) : owners_(world, world.topology(), false, {}) {
    owners_.connect();
  }

  // Collective of the ranks of a host. Each casts some rows of each weight, into memory of which
  // earlier casts of this weight are made anew, too.
  void operator()(const std::vector<Weight*>& weights, at::ScalarType number);

 private:
  void make_room(const std::vector<Weight*>& weights, at::ScalarType number);

  Owners owners_;
  std::unordered_map<const void*, at::Tensor> casts_;  // by weight
};

}  // namespace bp::trainer
