#include "comm/torch/gradients.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "bp/collective.h"
#include "bp/error.h"
#include "comm/base/text.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

constexpr std::size_t kTotals = 3;  // f32 elements behind the last bucket's slots

template <class... Parts>
[[noreturn]] void refuse(const Parts&... why) {
  throw Error(ErrorCode::invalid_argument, concat("DistributedOptimizer: ", why...));
}

std::vector<GradientSize> sizes_of(const std::vector<Parameter>& parameters) {
  std::vector<GradientSize> sizes;
  for (const auto& [name, tensor] : parameters) {
    sizes.push_back({.count = static_cast<std::size_t>(tensor.numel()),
                     .type = *data_type_of(tensor.scalar_type())});
  }
  return sizes;
}

}  // namespace

bool Gradients::Entry::is_frozen() const {
  return !parameter.tensor.requires_grad() && arrived == nullptr;
}

bool Gradients::Entry::is_untouched() const { return grad().unsafeGetTensorImpl() == arrived; }

Gradients::Gradients(Communicator& comm,
                     const std::vector<Parameter>& parameters,
                     const BucketLimits& limits)
    : comm_(comm) {
  for (const Parameter& parameter : parameters) {
    entries_.push_back({.parameter = parameter});
  }
  if (comm.size() > 1) {
    for (BucketPlan& plan : plan_buckets(sizes_of(parameters), limits)) {
      buckets_.push_back({.plan = std::move(plan)});
    }
  }
  for (Bucket& bucket : buckets_) {
    allocate(bucket);
  }
  clear();
}

Gradients::~Gradients() { clear(); }

void Gradients::allocate(Bucket& bucket) {
  const std::size_t width = size_of(bucket.plan.type);
  const bool is_last = &bucket == &buckets_.back();
  const std::size_t count = bucket.plan.count + (is_last ? kTotals : 0);
  // Shared by all tensors that lie in it.
  const auto buffer = std::make_shared<Buffer>(comm_.allocate(count * width));
  const auto keep = [buffer](void*) {};
  const auto index = static_cast<std::size_t>(&bucket - buckets_.data());

  at::TensorOptions options = at::kFloat;
  for (const Slot& slot : bucket.plan.slots) {
    Entry& entry = entries_[slot.parameter];
    const at::Tensor& tensor = entry.parameter.tensor;
    options = tensor.options();
    entry.bucket = index;
    entry.place = at::from_blob(buffer->data() + slot.offset * width, tensor.sizes(),
                                tensor.strides(), keep, options);
  }
  bucket.data = buffer->data();
  bucket.memory =
      at::from_blob(bucket.data, {static_cast<std::int64_t>(bucket.plan.count)}, keep, options);
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
  --buckets_[entry.bucket].outstanding;
  start_complete();
}

void Gradients::expect_last(const Totals& mine) {
  mine_ = mine;
  expecting_last_ = true;
  for (const Entry& entry : entries_) {
    if (entry.place.defined() && entry.parameter.tensor.requires_grad()) {
      ++buckets_[entry.bucket].outstanding;
    }
  }
  start_complete();
}

void Gradients::start_rest(const Totals& mine) {
  mine_ = mine;
  for (Bucket& bucket : buckets_) {
    bucket.outstanding = 0;
  }
  start_complete();
}

void Gradients::start_complete() {
  while (next_ < buckets_.size() && buckets_[next_].outstanding == 0) {
    start(buckets_[next_++]);
  }
}

void Gradients::start(Bucket& bucket) {
  const std::size_t width = size_of(bucket.plan.type);
  for (const Slot& slot : bucket.plan.slots) {
    Entry& entry = entries_[slot.parameter];
    if (entry.arrived == nullptr) {
      std::memset(bucket.data + slot.offset * width, 0, slot.count * width);
    }
    entry.version = entry.place._version();
  }
  std::size_t count = bucket.plan.count;
  if (&bucket == &buckets_.back()) {
    float* totals = totals_of(bucket);
    totals[0] = static_cast<float>(mine_.weight);
    totals[1] = static_cast<float>(mine_.weighted_loss);
    totals[2] = static_cast<float>(mine_.stops);
    count += kTotals;
  }
  bucket.name = name_of(bucket);
  bucket.work =
      all_reduce_async(comm_, {.data = bucket.data, .count = count, .type = bucket.plan.type},
                       {.op = ReduceOp::sum, .name = bucket.name});
  ++started_;
}

// Ranks compare names, so what must be equal on all of them is part of it.
std::string Gradients::name_of(const Bucket& bucket) const {
  std::string frozen;
  for (const Slot& slot : bucket.plan.slots) {
    if (entries_[slot.parameter].is_frozen()) {
      frozen += (frozen.empty() ? " without " : ", ") + entries_[slot.parameter].parameter.name;
    }
  }
  return concat("gradients ", &bucket - buckets_.data() + 1, "/", buckets_.size(), frozen);
}

float* Gradients::totals_of(const Bucket& bucket) const {
  return reinterpret_cast<float*>(bucket.data) + bucket.plan.count;
}

Totals Gradients::finish() {
  Totals all = mine_;
  for (Bucket& bucket : buckets_) {
    bucket.work.wait();
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
  if (!buckets_.empty()) {
    const float* totals = totals_of(buckets_.back());
    all = {.weight = totals[0], .weighted_loss = totals[1], .stops = totals[2]};
  }
  return all;
}

std::vector<at::Tensor> Gradients::memory() const {
  std::vector<at::Tensor> all;
  for (const Bucket& bucket : buckets_) {
    all.push_back(bucket.memory);
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
  for (Bucket& bucket : buckets_) {
    bucket.outstanding = 0;
  }
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
