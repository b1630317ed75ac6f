#include "comm/torch/divisible.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <array>
#include <typeinfo>
#include <vector>

#include <c10/util/Type.h>

#include "base/text.h"
#include "bp/error.h"
#include "comm/torch/shared_room.h"

namespace bp {
namespace {

namespace optim = torch::optim;

// For LibTorch's own optimizers.
const Elementwise& libtorch_states() {
  static const Elementwise kStates;
  return kStates;
}

}  // namespace

const Elementwise* elementwise(const optim::Optimizer& optimizer) {
  if (const auto* const own = dynamic_cast<const Elementwise*>(&optimizer)) {
    return own->is_elementwise() ? own : nullptr;
  }
  const std::array known = {&typeid(optim::SGD), &typeid(optim::Adam), &typeid(optim::AdamW),
                            &typeid(optim::RMSprop), &typeid(optim::Adagrad)};
  const bool is_known = std::ranges::any_of(
      known, [&](const std::type_info* type) { return *type == typeid(optimizer); });
  return is_known ? &libtorch_states() : nullptr;
}

std::vector<at::Tensor*> Elementwise::tensors_of(optim::OptimizerParamState& state) const {
  if (auto* const adamw = dynamic_cast<optim::AdamWParamState*>(&state)) {
    return {&adamw->exp_avg(), &adamw->exp_avg_sq(), &adamw->max_exp_avg_sq()};
  }
  if (auto* const adam = dynamic_cast<optim::AdamParamState*>(&state)) {
    return {&adam->exp_avg(), &adam->exp_avg_sq(), &adam->max_exp_avg_sq()};
  }
  if (auto* const sgd = dynamic_cast<optim::SGDParamState*>(&state)) {
    return {&sgd->momentum_buffer()};
  }
  if (auto* const rms = dynamic_cast<optim::RMSpropParamState*>(&state)) {
    return {&rms->square_avg(), &rms->momentum_buffer(), &rms->grad_avg()};
  }
  if (auto* const adagrad = dynamic_cast<optim::AdagradParamState*>(&state)) {
    return {&adagrad->sum()};
  }
  throw Error(ErrorCode::invalid_argument,
              concat("Elementwise::tensors_of() does not know the state ",
                     c10::demangle(typeid(state).name()), ": override it"));
}

std::string reason_against_shards(const Communicator& comm,
                                  c10::Device device,
                                  const optim::Optimizer& optimizer,
                                  Shard shard) {
  if (shard == Shard::none) return "";
  if (!device.is_cpu() && shard != Shard::optimizer) {
    return concat("the parameters lie on ", device, ", where ranks divide the optimizer only");
  }
  const int memories = memory_topology(comm, device).hosts();
  if (memories > comm.topology().hosts() && !divides_among_hosts(shard)) {
    return concat("the ranks share no memory with the backend ", comm.backend());
  }
  if (elementwise(optimizer) == nullptr) {
    return concat("the optimizer ", c10::demangle(typeid(optimizer).name()),
                  " is not known to treat each element by itself (bp/torch/elementwise.h)");
  }
  return "";
}

}  // namespace bp
