// How the gradients of a window are reduced: they arrive, their buckets start, and the sums come
// back.
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/text.h"
#include "comm/device/device.h"
#include "comm/torch/gradients.h"
#include "comm/torch/refuse.h"
#include "comm/torch/sparse_rows.h"
#include "comm/torch/tensor_view.h"

namespace bp {

void Gradients::require_layout(const Entry& entry) {
  const c10::Layout layout = entry.grad().layout();
  if (layout == (entry.is_sparse ? c10::kSparse : c10::kStrided)) {
    if (entry.is_sparse && entry.grad().sparse_dim() != 1) {
      refuse("parameter ", entry.parameter.name, " got a sparse gradient that is no list of rows");
    }
    return;
  }
  refuse("parameter ", entry.parameter.name, " got a ", layout, " gradient: ",
         entry.is_sparse ? "do not name it in sparse_gradients"
                         : "make its embedding with sparse(false), or name it in sparse_gradients");
}

void Gradients::arrived(std::size_t i) {
  Entry& entry = entries_[i];
  require_layout(entry);
  if (entry.slot.defined() && !entry.grad().is_same(entry.slot)) {
    entry.slot.copy_(entry.grad());
    entry.grad() = entry.slot;
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
  if (entry.slot.defined()) {
    progress_.arrived(entry.bucket);
    start_complete();
  }
}

void Gradients::expect_last(const Totals& mine) {
  mine_ = mine;
  expecting_last_ = true;
  for (const Entry& entry : entries_) {
    if (entry.slot.defined() && entry.parameter.tensor.requires_grad()) {
      progress_.expect(entry.bucket);
    }
  }
  start_complete();
}

void Gradients::start_rest(const Totals& mine) {
  mine_ = mine;
  progress_.expect_no_more();
  start_complete();
}

void Gradients::start_complete() {
  while (const auto bucket = progress_.next()) {
    start(buckets_[*bucket]);
  }
}

void Gradients::start(Bucket& bucket) {
  for (const Slot& slot : bucket.plan().slots) {
    Entry& entry = entries_[slot.parameter];
    if (entry.arrived == nullptr) {
      bucket.clear(slot);
    }
    entry.version = entry.slot._version();
  }
  if (&bucket == &buckets_.back()) {
    write_totals(bucket);
  }
  bucket.start(name_of(bucket));
  ++started_;
}

// A loss that is on the device is added there, because the host does not know it yet.
void Gradients::write_totals(Bucket& bucket) const {
  bucket.write_extra(std::array<float, kTotals>{static_cast<float>(mine_.weight),
                                                static_cast<float>(mine_.weighted_loss),
                                                static_cast<float>(mine_.stops)});
  if (mine_.loss_on_device.defined()) {
    float* const loss = reinterpret_cast<float*>(bucket.extra().data) + 1;
    at::for_blob(loss, {})
        .options(at::dtype(at::kFloat).device(device_))
        .target_device(device_)
        .make_tensor()
        .add_(mine_.loss_on_device);
  }
}

// Ranks compare the names of collectives, so the name has what must be equal on all ranks.
std::string Gradients::name_of(const Bucket& bucket) const {
  std::string frozen;
  for (const Slot& slot : bucket.plan().slots) {
    if (entries_[slot.parameter].is_frozen()) {
      frozen += (frozen.empty() ? " without " : ", ") + entries_[slot.parameter].parameter.name;
    }
  }
  return concat("gradients ", &bucket - buckets_.data() + 1, "/", buckets_.size(), frozen);
}

// On a device this is the one time in a window that the host waits for it.
void Gradients::read_totals(Totals& all) {
  const std::vector<ConstView> sums = on_device_ ? all_sums() : std::vector<ConstView>();
  if (!buckets_.empty()) {
    std::array<double, kTotals> totals{};
    norm_ = arithmetic_.read(totals, buckets_.back().extra(), sums);
    all.weight = totals[0];
    all.weighted_loss = totals[1];
    all.stops = totals[2];
  } else if (mine_.loss_on_device.defined()) {
    double loss = 0;
    norm_ = arithmetic_.read({&loss, 1}, elements_of(mine_.loss_on_device), sums);
    all.weighted_loss += loss;
  } else {
    norm_ = arithmetic_.read({}, {}, sums);
  }
  all.loss_on_device.reset();
}

// Returns the elements of all sums, as they are before finish() writes them over the gradients.
std::vector<ConstView> Gradients::all_sums() const {
  std::vector<ConstView> all;
  std::ranges::transform(buckets_, std::back_inserter(all), &Bucket::sums);
  std::ranges::transform(outside_buckets(), std::back_inserter(all), elements_of);
  return all;
}

bool Gradients::are_all_finite() const {
  // A sum of squares in double precision is finite exactly if each element is, unless f64 gradients
  // are so large that it overflows.
  if (norm_) return std::isfinite(*norm_);
  return std::ranges::all_of(all_sums(),
                             [](const ConstView& sums) { return host_memory().is_finite(sums); });
}

// With one rank, it only puts the rows in order.
void Gradients::sum_sparse_ones() {
  std::vector<SparseGradient> mine;
  for (Entry& entry : entries_) {
    if (!entry.is_sparse) {
      continue;
    }
    if (entry.grad().defined()) {
      entry.grad() = entry.grad().coalesce();
    }
    mine.push_back({entry.parameter, entry.grad(), entry.is_frozen()});
  }
  if (buckets_.empty() || mine.empty()) {
    return;
  }
  const std::vector<at::Tensor> sums = sum_sparse(comm_, mine);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i].parameter.tensor.mutable_grad() = sums[i];
  }
}

// Returns the values of the gradients that lie in no bucket.
std::vector<at::Tensor> Gradients::outside_buckets() const {
  std::vector<at::Tensor> all;
  for (const Entry& entry : entries_) {
    if (!entry.slot.defined() && entry.grad().defined()) {
      all.push_back(entry.is_sparse ? entry.grad()._values() : entry.grad());
    }
  }
  return all;
}

Totals Gradients::finish() {
  Totals all = mine_;
  for (Bucket& bucket : buckets_) {
    bucket.wait();
  }
  read_totals(all);
  require_untouched_in_flight();
  sum_sparse_ones();
  all.finite = !options_.check_finite || are_all_finite();
  for (Bucket& bucket : buckets_) {
    bucket.finish(all.finite && all.weight > 0);
  }
  for (Entry& entry : entries_) {
    if (entry.is_frozen()) {
      entry.grad().reset();
    } else if (entry.slot.defined()) {
      entry.grad() = entry.slot;
    } else if (!entry.grad().defined()) {
      const at::Tensor& parameter = entry.parameter.tensor;
      entry.grad() = entry.is_sparse ? no_rows(parameter) : at::zeros_like(parameter);
    }
  }
  if (norm_) remember_norm(*norm_);
  return all;
}

void Gradients::require_untouched_in_flight() const {
  for (const Entry& entry : entries_) {
    const bool changed = entry.slot.defined() && entry.slot._version() != entry.version;
    if (entry.arrived != nullptr && (changed || !entry.is_untouched())) {
      refuse("the gradient of ", entry.parameter.name,
             " was changed or cleared while its all-reduce was in flight: leave out zero_grad(), "
             "step() empties the window itself");
    }
  }
}

}  // namespace bp
