#include "comm/torch/gradients.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "comm/base/text.h"
#include "comm/torch/gradient_math.h"
#include "comm/torch/refuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

constexpr std::size_t kTotals = 3;  // f32 elements behind the last bucket's slots

}  // namespace

bool Gradients::Entry::is_frozen() const {
  return !parameter.tensor.requires_grad() && arrived == nullptr;
}

bool Gradients::Entry::is_untouched() const { return grad().unsafeGetTensorImpl() == arrived; }

Gradients::Gradients(Communicator& comm,
                     const std::vector<Parameter>& parameters,
                     const GradientsOptions& options)
    : comm_(comm), options_(options) {
  for (const Parameter& parameter : parameters) {
    entries_.push_back({.parameter = parameter});
  }
  lay_out(reverse_order(parameters.size()));
  clear();
}

Gradients::~Gradients() { clear(); }

void Gradients::lay_out(const std::vector<std::size_t>& order) {
  buckets_.clear();
  if (comm_.size() == 1) {
    return;
  }
  std::vector<GradientSize> sizes;
  for (const Entry& entry : entries_) {
    const at::Tensor& tensor = entry.parameter.tensor;
    sizes.push_back({.count = static_cast<std::size_t>(tensor.numel()),
                     .type = *data_type_of(tensor.scalar_type())});
  }
  std::vector<BucketPlan> plans = plan_buckets(sizes, order, options_.limits);
  for (BucketPlan& plan : plans) {
    const std::size_t extra = &plan == &plans.back() ? kTotals : 0;
    const Bucket& bucket =
        buckets_.emplace_back(comm_, std::move(plan), extra, options_.error_feedback);
    for (const Slot& slot : bucket.plan().slots) {
      Entry& entry = entries_[slot.parameter];
      entry.bucket = buckets_.size() - 1;
      entry.place = bucket.place(slot, entry.parameter.tensor);
    }
  }
  outstanding_.assign(buckets_.size(), 0);
}

std::vector<std::size_t> Gradients::arrival_order() const {
  std::vector<std::size_t> order = arrivals_;
  if (order.empty()) {
    return order;
  }
  std::ranges::copy_if(reverse_order(entries_.size()), std::back_inserter(order),
                       [&](std::size_t i) { return !entries_[i].is_last; });
  return order;
}

void Gradients::rearrange(std::vector<std::size_t> order) {
  const bool is_new = order != (order_.empty() ? reverse_order(entries_.size()) : order_);
  order_ = std::move(order);
  if (!is_new) {
    return;
  }
  NamedTensors kept;
  for (const auto& [name, residual] : residuals()) {
    kept.emplace_back(name, residual.clone());
  }
  lay_out(order_);
  load_residuals(kept);
}

void Gradients::arrived(std::size_t i) {
  Entry& entry = entries_[i];
  if (entry.grad().layout() != c10::kStrided) {
    refuse("parameter ", entry.parameter.name, " got a ", entry.grad().layout(),
           " gradient: make its embedding with sparse(false)");
  }
  if (entry.place.defined() && !entry.grad().is_same(entry.place)) {
    entry.place.copy_(entry.grad());
    entry.grad() = entry.place;
  }
  entry.arrived = entry.grad().unsafeGetTensorImpl();
  if (!expecting_last_ || buckets_.empty()) {
    return;
  }
  if (entry.is_last) {
    refuse("parameter ", entry.parameter.name,
           " got two gradients in one backward pass (a nested backward?), the second too late");
  }
  entry.is_last = true;
  arrivals_.push_back(i);
  --outstanding_[entry.bucket];
  start_complete();
}

void Gradients::expect_last(const Totals& mine) {
  mine_ = mine;
  expecting_last_ = true;
  for (const Entry& entry : entries_) {
    if (entry.place.defined() && entry.parameter.tensor.requires_grad()) {
      ++outstanding_[entry.bucket];
    }
  }
  start_complete();
}

void Gradients::start_rest(const Totals& mine) {
  mine_ = mine;
  std::ranges::fill(outstanding_, 0);
  start_complete();
}

void Gradients::start_complete() {
  while (next_ < buckets_.size() && outstanding_[next_] == 0) {
    start(buckets_[next_++]);
  }
}

void Gradients::start(Bucket& bucket) {
  for (const Slot& slot : bucket.plan().slots) {
    Entry& entry = entries_[slot.parameter];
    if (entry.arrived == nullptr) {
      bucket.clear(slot);
    }
    entry.version = entry.place._version();
  }
  if (&bucket == &buckets_.back()) {
    float* const totals = bucket.extra();
    totals[0] = static_cast<float>(mine_.weight);
    totals[1] = static_cast<float>(mine_.weighted_loss);
    totals[2] = static_cast<float>(mine_.stops);
  }
  bucket.start(name_of(bucket));
  ++started_;
}

// Ranks compare names, so what must be equal on all of them is part of it.
std::string Gradients::name_of(const Bucket& bucket) const {
  std::string frozen;
  for (const Slot& slot : bucket.plan().slots) {
    if (entries_[slot.parameter].is_frozen()) {
      frozen += (frozen.empty() ? " without " : ", ") + entries_[slot.parameter].parameter.name;
    }
  }
  return concat("gradients ", &bucket - buckets_.data() + 1, "/", buckets_.size(), frozen);
}

bool Gradients::are_all_finite() const {
  if (!buckets_.empty()) {
    return std::ranges::all_of(buckets_, &Bucket::is_finite);
  }
  return std::ranges::all_of(entries_, [](const Entry& entry) {
    const at::Tensor& grad = entry.grad();
    return !grad.defined() || all_finite(*data_type_of(grad.scalar_type()),
                                         static_cast<const std::byte*>(grad.const_data_ptr()),
                                         static_cast<std::size_t>(grad.numel()));
  });
}

Totals Gradients::finish() {
  Totals all = mine_;
  for (Bucket& bucket : buckets_) {
    bucket.wait();
  }
  if (!buckets_.empty()) {
    const float* const totals = buckets_.back().extra();
    all.weight = totals[0];
    all.weighted_loss = totals[1];
    all.stops = totals[2];
  }
  all.finite = !options_.check_finite || are_all_finite();
  for (Bucket& bucket : buckets_) {
    bucket.finish(all.finite && all.weight > 0);
  }
  for (Entry& entry : entries_) {
    const bool changed = entry.place.defined() && entry.place._version() != entry.version;
    if (entry.arrived != nullptr && (changed || !entry.is_untouched())) {
      refuse("the gradient of ", entry.parameter.name,
             " was changed or cleared while its all-reduce was in flight: leave out zero_grad(), "
             "step() empties the window itself");
    }
    if (entry.is_frozen()) {
      entry.grad().reset();
    } else if (entry.place.defined()) {
      entry.grad() = entry.place;
    } else if (!entry.grad().defined()) {
      entry.grad() = at::zeros_like(entry.parameter.tensor);
    }
  }
  return all;
}

std::vector<at::Tensor> Gradients::memory() const {
  std::vector<at::Tensor> all;
  for (const Bucket& bucket : buckets_) {
    all.push_back(bucket.memory());
  }
  for (const Entry& entry : entries_) {
    if (!entry.place.defined() && entry.grad().defined()) {
      all.push_back(entry.grad());
    }
  }
  return all;
}

void Gradients::clear() {
  for (Entry& entry : entries_) {
    entry.grad().reset();
    entry.arrived = nullptr;
    entry.is_last = false;
  }
  std::ranges::fill(outstanding_, 0);
  arrivals_.clear();
  next_ = 0;
  expecting_last_ = false;
}

void Gradients::require_untouched() const {
  for (const Entry& entry : entries_) {
    if (entry.arrived != nullptr && !entry.is_untouched()) {
      refuse("the gradient of ", entry.parameter.name,
             " was cleared or replaced inside the window: leave out zero_grad(), step() empties "
             "the window itself");
    }
  }
}

NamedTensors Gradients::residuals() const {
  NamedTensors all;
  for (const Bucket& bucket : buckets_) {
    for (const Slot& slot : bucket.plan().slots) {
      const Parameter& parameter = entries_[slot.parameter].parameter;
      if (at::Tensor residual = bucket.residual(slot, parameter.tensor); residual.defined()) {
        all.emplace_back(parameter.name, std::move(residual));
      }
    }
  }
  return all;
}

void Gradients::load_residuals(const NamedTensors& given) {
  const NamedTensors mine = residuals();
  for (const auto& [name, residual] : mine) {
    residual.zero_();
  }
  for (const auto& [name, values] : given) {
    const auto found = std::ranges::find(mine, name, &NamedTensors::value_type::first);
    if (found == mine.end() || found->second.sizes() != values.sizes()) {
      refuse("the state has a residual of ", name, " of shape ", values.sizes(),
             ", which fits no parameter here: load it into the same model with the same options");
    }
    found->second.copy_(values);
  }
}

void Gradients::scale_residuals(double factor) {
  if (factor == 1) {
    return;
  }
  for (Bucket& bucket : buckets_) {
    bucket.scale_residual(factor);
  }
}

std::vector<std::string> Gradients::missing() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.parameter.tensor.requires_grad() && entry.arrived == nullptr) {
      names.push_back(entry.parameter.name);
    }
  }
  return names;
}

}  // namespace bp
