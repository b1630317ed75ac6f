#include "trainer/train/watch/anomaly.h"

#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/collective.h"

namespace bp::trainer {
namespace {

bool all_finite(const at::Tensor& x) { return x.isfinite().all().item<bool>(); }

}  // namespace

void AnomalyWatch::observe(TrainingStep& step) const {
  if (!on_) return;
  step.observe = [first = first_](const std::string& name, const at::Tensor& x) {
    if (first->empty() && !all_finite(x)) *first = concat("the activation ", name);
    if (!x.requires_grad()) return;
    x.register_hook([first, name](const at::Tensor& gradient) {
      if (first->empty() && !all_finite(gradient)) {
        *first = concat("the gradient of the activation ", name);
      }
    });
  };
}

void AnomalyWatch::require_none(Communicator& world, const Bert& model, std::int64_t step) const {
  if (!on_) return;
  std::string found = *first_;
  for (const auto& [name, parameter] : model.parameters()) {
    if (!found.empty()) break;
    if (parameter.grad().defined() && !all_finite(parameter.grad().to_dense())) {
      found = concat("the gradient of the parameter ", name);
    }
  }
  const std::vector<std::string> all = all_gather_object(world, found, {.name = "anomalies"});
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    throw InputError(
        70,
        concat("step ", step, ": ", all[rank], " is the first that is not finite, on rank ", rank),
        "try a lower --lr, a longer --warmup or --precision fp32; without --detect-anomaly, loss "
        "scaling skips such a step");
  }
}

}  // namespace bp::trainer
