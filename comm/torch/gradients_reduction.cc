// How the gradients of a window are reduced: they arrive, their buckets start, and the sums come
// back.
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/torch/collective.h"
#include "comm/device/device_memory.h"
#include "comm/torch/gradients.h"
#include "comm/torch/misuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

// Also of an undefined one.
bool is_finite(const at::Tensor& tensor) {
  return !tensor.defined() ||
         std::isfinite(at::linalg_vector_norm(tensor, 2, {}, false, at::kDouble).item<double>());
}

}  // namespace

void Gradients::require_layout(const Entry& entry, const at::Tensor& gradient) {
  const c10::Layout layout = gradient.layout();
  if (layout == (entry.is_sparse ? c10::kSparse : c10::kStrided)) {
    if (entry.is_sparse && gradient.sparse_dim() != 1) {
      refuse("parameter ", entry.parameter.name,
             " got a sparse gradient that is not a list of rows");
    }
    return;
  }
  refuse("parameter ", entry.parameter.name, " got a ", layout, " gradient: ",
         entry.is_sparse ? "do not name it in sparse_gradients"
                         : "make its embedding with sparse(false), or name it in sparse_gradients");
}

// Autograd would add to memory that is being summed.
bool Gradients::takes_late(std::size_t i, const at::Tensor& gradient) {
  Entry& entry = entries_[i];
  if (!entry.slot.defined() || !progress_.has_started(entry.bucket)) {
    return false;
  }
  require_layout(entry, gradient);
  if (entry.late.defined()) {
    entry.late.add_(gradient);
  } else {
    entry.late = gradient.detach().clone(at::MemoryFormat::Contiguous);
  }
  count_arrival(i);
  return true;
}

void Gradients::arrived(std::size_t i) {
  Entry& entry = entries_[i];
  require_layout(entry, entry.grad());
  if (entry.slot.defined() && !entry.grad().is_same(entry.slot)) {
    if (entry.has_sums) {
      entry.slot.add_(entry.grad());
    } else {
      entry.slot.copy_(entry.grad());
    }
    entry.grad() = entry.slot;
  }
  entry.arrived = entry.grad().unsafeGetTensorImpl();
  entry.version = entry.version_now();
  entry.last = entry.last_now();
  count_arrival(i);
  count_in_bucket(i);
}

bool Gradients::passes(std::size_t i) {
  ++entries_[i].arrivals;
  count_in_bucket(i);
  return true;
}

void Gradients::count_in_bucket(std::size_t i) {
  const Entry& entry = entries_[i];
  const bool was_expected = entry.arrivals <= entry.most_arrivals;
  if (!expecting_last_ || !entry.slot.defined() || !was_expected) return;
  progress_.arrived(entry.bucket);
  start_complete();
}

void Gradients::count_arrival(std::size_t i) {
  Entry& entry = entries_[i];
  ++entry.arrivals;
  if (!expecting_last_) {
    return;
  }
  if (entry.is_last) std::erase(arrivals_, i);
  entry.is_last = true;
  arrivals_.push_back(i);
}

void Gradients::begin_pass(const std::vector<std::size_t>& given) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].given = given.empty() ? 0 : given[i];
  }
}

bool Gradients::was_given(std::size_t i) {
  Entry& entry = entries_[i];
  if (entry.arrivals >= entry.given) return false;
  ++entry.arrivals;
  return true;
}

std::vector<std::size_t> Gradients::pass_failed() {
  std::vector<std::size_t> given;
  for (Entry& entry : entries_) {
    given.push_back(std::max(entry.given, std::exchange(entry.arrivals, 0)));
  }
  expecting_last_ = false;
  return given;
}

void Gradients::backward_ended() {
  for (Entry& entry : entries_) {
    entry.most_arrivals = std::max(entry.most_arrivals, entry.arrivals);
    entry.arrivals = 0;
  }
}

void Gradients::expect_last() {
  expecting_last_ = true;
  if (std::exchange(has_expected_, true)) return;
  for (const Entry& entry : entries_) {
    if (entry.slot.defined() && entry.parameter.tensor.requires_grad()) {
      progress_.expect(entry.bucket, entry.most_arrivals);
    }
  }
  // Only then is it known which gradients are missing or late.
  if (!buckets_.empty()) progress_.expect(buckets_.size() - 1);
  start_complete();
}

void Gradients::add_up() {
  progress_.expect_no_more();
  start_complete();
  for (Bucket& bucket : buckets_) bucket.wait();
  free_sums_of_others();
  require_untouched_in_flight();
  for (Entry& entry : entries_) {
    if (!entry.slot.defined()) continue;
    entry.has_sums = true;
    if (entry.arrived != nullptr) entry.last = entry.last_now();
  }
  progress_.clear();
  expecting_last_ = has_expected_ = false;
  freed_ = 0;
  ++added_up_;
}

void Gradients::start_rest(const OwnTotals& mine) {
  mine_ = mine;
  progress_.expect_no_more();
  start_complete();
}

void Gradients::start_complete() {
  while (const auto bucket = progress_.next()) {
    start(buckets_[*bucket]);
  }
  free_sums_of_others();
}

// The backward pass waits rather than fill more buckets than this while the network is slower. But
// a rank that still lacks a gradient for the first bucket may wait for this one, in an operation of
// its backward pass. So this one gives up waiting, and where ranks enter layers together, for which
// they wait anyway, it does not begin.
void Gradients::free_sums_of_others() {
  constexpr std::size_t kInFlight = 8;
  constexpr std::chrono::seconds kPatience(5);
  const auto has_started = [this](std::size_t i) {
    return i < buckets_.size() && progress_.has_started(i);
  };
  while (options_.frees && has_started(freed_)) {
    Bucket& first = buckets_[freed_];
    const bool waits = options_.waits && has_started(freed_ + kInFlight);
    if (!first.is_summed(waits ? kPatience : std::chrono::seconds(0))) {
      if (waits) options_.waits = false;
      return;
    }
    first.wait();
    first.free_sums_of_others(options_.adds_up);
    ++freed_;
  }
}

void Gradients::start(Bucket& bucket) {
  for (const Slot& slot : bucket.plan().slots) {
    const Entry& entry = entries_[slot.parameter];
    if (entry.arrived == nullptr && !entry.has_sums) bucket.clear(slot);
  }
  if (&bucket == &buckets_.back()) {
    write_totals(bucket);
  }
  bucket.start(name_of(bucket));
  ++started_;
}

// The host does not know a loss that is on the device, so the bits are taken apart there.
void Gradients::write_totals(Bucket& bucket) const {
  std::vector<bool> lacks;
  for (const Entry& entry : entries_) lacks.push_back(!entry.has_arrived());
  bucket.write_extra(totals_.written(
      comm_.rank(),
      {.weight = mine_.weight,
       .weighted_loss = mine_.weighted_loss,
       .seconds = mine_.seconds,
       .fingerprint = mine_.fingerprint,
       .stops = mine_.stops,
       .has_late_gradients =
           std::ranges::any_of(entries_, [](const Entry& entry) { return entry.late.defined(); }),
       .is_from_backward = mine_.is_from_backward,
       .split = mine_.split},
      lacks));
  if (mine_.loss_on_device.defined()) {
    float* const loss =
        reinterpret_cast<float*>(bucket.extra().data) + totals_.loss_of(comm_.rank());
    at::for_blob(loss, {WindowTotals::kPartsOfANumber})
        .options(at::dtype(at::kFloat).device(device_))
        .target_device(device_)
        .make_tensor()
        .copy_(mine_.loss_on_device.add(mine_.weighted_loss).reshape({1}).view(at::kShort));
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
  return concat("gradients ", &bucket - buckets_.data() + 1, "/", buckets_.size(),
                added_up_ > 0 ? concat(" after ", added_up_, " micro-batches") : "", frozen);
}

// On a device this is the one time in a window that the host waits for it.
Totals Gradients::read_totals() {
  const std::vector<ConstView> sums = on_device_ ? all_sums() : std::vector<ConstView>();
  if (!buckets_.empty()) {
    std::vector<double> elements(totals_.elements());
    norm_ = arithmetic_.read(elements, buckets_.back().extra(), sums);
    return totals_of(elements);
  }
  Totals all{.weight = mine_.weight,
             .weighted_loss = mine_.weighted_loss,
             .seconds = {mine_.seconds},
             .stops = mine_.stops,
             .split = mine_.split};
  for (Entry& entry : entries_) entry.is_unused = !entry.has_arrived();
  if (mine_.loss_on_device.defined()) {
    double loss = 0;
    norm_ = arithmetic_.read({&loss, 1}, elements_of(mine_.loss_on_device), sums);
    all.weighted_loss += loss;
  } else {
    norm_ = arithmetic_.read({}, {}, sums);
  }
  return all;
}

Totals Gradients::totals_of(std::span<const double> sums) {
  const std::vector<bool> unused = totals_.lacking_everywhere(sums);
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].is_unused = unused[i];
  const std::vector<RankTotals> ranks = totals_.of_ranks(sums);
  Totals all;
  all.from_all_ranks = ranks.size() == static_cast<std::size_t>(comm_.size());
  some_rank_has_late_ones_ = false;
  for (const RankTotals& one : ranks) {
    all.weight += one.weight;
    all.weighted_loss += one.weighted_loss;
    all.seconds.push_back(one.seconds);
    all.stops = all.stops || one.stops;
    all.split += one.split;
    if (one.is_from_backward != ranks[0].is_from_backward) {
      all.fingerprints = Totals::Fingerprints::incomparable;
    } else if (one.fingerprint != ranks[0].fingerprint &&
               all.fingerprints == Totals::Fingerprints::equal) {
      all.fingerprints = Totals::Fingerprints::different;
    }
    if (one.has_late_gradients) some_rank_has_late_ones_ = true;
  }
  return all;
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
    if (!entry.is_sparse || entry.is_unused) {
      continue;
    }
    if (entry.grad().defined()) {
      entry.grad() = entry.grad().coalesce();
    }
    mine.push_back({entry.parameter, entry.grad(), entry.is_frozen(), entry.announced.get()});
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

// Returns the sums, undefined for a parameter without late gradients.
std::vector<at::Tensor> Gradients::sum_late_ones() {
  std::vector<at::Tensor> sums(entries_.size());
  if (!some_rank_has_late_ones_) {
    return sums;
  }
  std::vector<std::int32_t> ranks;  // those that have a late gradient of each parameter
  for (const Entry& entry : entries_) ranks.push_back(entry.late.defined() ? 1 : 0);
  all_reduce(comm_, view(ranks), {.name = "ranks with late gradients"});
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (ranks[i] == 0) continue;
    const auto& [name, parameter] = entries_[i].parameter;
    const at::Tensor& mine = entries_[i].late;
    sums[i] = mine.defined() ? mine : at::zeros(parameter.sizes(), parameter.options());
    all_reduce(comm_, sums[i], {.name = "late gradient of " + name});
  }
  return sums;
}

Totals Gradients::finish() {
  for (Bucket& bucket : buckets_) {
    bucket.wait();
  }
  free_sums_of_others();
  Totals all = read_totals();
  require_untouched_in_flight();
  sum_sparse_ones();
  const std::vector<at::Tensor> late = sum_late_ones();
  all.finite = !options_.check_finite || (are_all_finite() && std::ranges::all_of(late, is_finite));
  if (options_.check_finite && options_.owners != nullptr) {
    std::uint8_t finite = all.finite ? 1 : 0;
    all_reduce(options_.owners->comm(), view(std::span(&finite, 1)),
               {.op = ReduceOp::min, .name = "finite gradients"});
    all.finite = finite != 0;
  }
  for (Bucket& bucket : buckets_) {
    bucket.finish(all.finite && all.weight > 0);
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.is_frozen() || entry.is_unused) {
      entry.grad().reset();
    } else if (entry.slot.defined()) {
      if (late[i].defined()) entry.slot.add_(late[i]);
      entry.grad() = entry.slot;
    }
  }
  if (some_rank_has_late_ones_) {
    norm_.reset();
  } else if (norm_) {
    remember_norm(*norm_);
  }
  return all;
}

void Gradients::require_untouched_in_flight() const {
  for (const Entry& entry : entries_) {
    if (entry.arrived != nullptr && !entry.is_untouched()) {
      refuse("the gradient of ", entry.parameter.name,
             " was changed or cleared while its all-reduce was in flight: leave out zero_grad(), "
             "step() empties the window itself");
    }
  }
}

}  // namespace bp
