#include "comm/torch/gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "base/mix.h"
#include "bp/collective.h"
#include "comm/torch/device_arithmetic.h"
#include "comm/torch/misuse.h"
#include "comm/torch/slot_tensor.h"
#include "comm/torch/sum_of_squares.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

at::Tensor as_dense(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
}

}  // namespace

bool Gradients::Entry::is_frozen() const {
  return !parameter.tensor.requires_grad() && arrived == nullptr;
}

bool Gradients::Entry::is_replaced() const {
  const bool is_absent = is_unused && !grad().defined();
  return slot.defined() && !is_frozen() && !is_absent && !grad().is_same(slot);
}

bool Gradients::Entry::is_same() const { return grad().unsafeGetTensorImpl() == arrived; }

bool Gradients::Entry::is_untouched() const { return is_same() && version_now() == version; }

// Only a slot has a counter of its own. Autograd may keep a gradient that shares the counter of
// another tensor.
std::int64_t Gradients::Entry::version_now() const { return slot.defined() ? slot._version() : 0; }

// LibTorch's clip_grad_norm_() writes behind the counter's back.
std::uint64_t Gradients::Entry::last_now() const {
  MixHash hash;
  hash.add(last_element_of(grad()));
  return hash.value();
}

Gradients::Gradients(Communicator& comm,
                     const std::vector<Parameter>& parameters,
                     const GradientsOptions& options)
    : comm_(comm),
      device_(parameters.at(0).tensor.device()),
      on_device_(device_bucket_arithmetic(device_)),
      arithmetic_(on_device_ ? *on_device_ : host_bucket_arithmetic()),
      options_(options),
      totals_(comm.size(), parameters.size()) {
  for (const Parameter& parameter : parameters) {
    const bool is_sparse = std::ranges::count(options.sparse, parameter.name) > 0;
    entries_.emplace_back().parameter = parameter;
    entries_.back().is_sparse = is_sparse;
  }
  lay_out(reverse_order(parameters.size()));
  clear();
}

Gradients::~Gradients() {
  clear();
  try {
    free_buckets();
  } catch (const std::exception&) {  // of the device, which has failed; the next use reports it
  }
}

// Memory of a communicator is freed at once, while the device may still have work that reads it.
void Gradients::free_buckets() {
  if (!buckets_.empty()) arithmetic_.finish_stream();
  buckets_.clear();
}

void Gradients::lay_out(const std::vector<std::size_t>& order) {
  free_buckets();
  if (comm_.size() == 1) {
    return;
  }
  const c10::InferenceMode off(false);  // autograd writes the slots later
  std::vector<GradientSize> sizes;
  for (const Entry& entry : entries_) {
    const at::Tensor& tensor = entry.parameter.tensor;
    sizes.push_back({.count = static_cast<std::size_t>(tensor.numel()),
                     .type = *data_type_of(tensor.scalar_type())});
  }
  std::vector<std::size_t> dense;
  std::ranges::copy_if(order, std::back_inserter(dense),
                       [&](std::size_t i) { return !entries_[i].is_sparse; });
  std::vector<BucketPlan> plans = plan_buckets(sizes, dense, options_.limits);
  for (BucketPlan& plan : plans) {
    const std::size_t extra = &plan == &plans.back() ? totals_.elements() : 0;
    const Bucket& bucket =
        buckets_.emplace_back(comm_, std::move(plan), extra, options_.error_feedback,
                              options_.owners, options_.frees, arithmetic_);
    for (const Slot& slot : bucket.plan().slots) {
      Entry& entry = entries_[slot.parameter];
      entry.bucket = buckets_.size() - 1;
      entry.offset = slot.offset;
      entry.slot = tensor_in(bucket.memory(), bucket.plan().type, slot, entry.parameter.tensor);
    }
  }
  progress_ = BucketProgress(buckets_.size());
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

// Returns the gradients of a bucket of which this rank has the sums, as one tensor.
at::Tensor Gradients::own_sums(const Bucket& bucket) const {
  const auto keep = [memory = bucket.memory()](void*) {};
  const DataType type = bucket.plan().type;
  return at::from_blob(bucket.memory().get() + bucket.own().offset * size_of(type),
                       {static_cast<std::int64_t>(bucket.own().count)}, keep,
                       at::dtype(scalar_type_of(type)).device(device_), device_);
}

Block Gradients::part_of(std::size_t i, int owner) const {
  const Entry& entry = entries_[i];
  const auto count = static_cast<std::size_t>(entry.parameter.tensor.numel());
  if (!entry.slot.defined()) return {.count = count};
  const Block own = buckets_[entry.bucket].part_of(owner);
  const std::size_t begin = std::clamp(own.offset, entry.offset, entry.offset + count);
  const std::size_t end = std::clamp(own.offset + own.count, begin, entry.offset + count);
  return {.offset = begin - entry.offset, .count = end - begin};
}

bool Gradients::are_in_buckets() const {
  const bool all = std::ranges::none_of(entries_, &Entry::is_replaced);
  if (options_.owners != nullptr && !all) {
    refuse(
        "a gradient was replaced after reduce(), but with `shard` no rank has all of it: change "
        "the elements of the tensor that is there, or do not set `shard`");
  }
  return all;
}

std::vector<at::Tensor> Gradients::memory() const {
  std::vector<at::Tensor> all;
  const bool in_buckets = are_in_buckets();
  for (const Bucket& bucket : buckets_) {
    if (in_buckets) {
      if (bucket.own().count > 0) all.push_back(own_sums(bucket));
      continue;
    }
    for (const Slot& slot : bucket.plan().slots) {
      const at::Tensor& gradient = entries_[slot.parameter].grad();
      if (gradient.defined()) all.push_back(gradient);
    }
  }
  std::ranges::move(outside_buckets(), std::back_inserter(all));
  return all;
}

// Devices add in orders of their own. So rank 0's norm counts, or that of each rank's part. It is
// rounded to the 24 bits of single precision, where the order hardly ever shows.
double Gradients::norm() const {
  if (!on_device_) return norm_on_host();
  const double mine = is_norm_known() ? *norm_ : norm_on_device();
  double squares = options_.owners != nullptr || comm_.rank() == 0 ? mine * mine : 0;
  if (comm_.size() > 1) all_reduce(comm_, view(std::span(&squares, 1)), {.name = "gradient norm"});
  int exponent = 0;
  const auto fraction = static_cast<float>(std::frexp(std::sqrt(squares), &exponent));
  return std::ldexp(double{fraction}, exponent);
}

double Gradients::norm_on_device() const {
  std::vector<at::Tensor> all = memory();
  std::ranges::transform(all, all.begin(), as_dense);
  std::vector<ConstView> elements;
  std::ranges::transform(all, std::back_inserter(elements), elements_of);
  return *arithmetic_.read({}, {}, elements);
}

// The squares are added by pieces in the order of the parameters, whoever owns a piece and wherever
// it lies.
double Gradients::norm_on_host() const {
  (void)are_in_buckets();
  std::vector<double> sums;
  const auto add = [&sums](const at::Tensor& gradient, const Block& own) {
    const at::Tensor kept = as_dense(gradient);
    const ConstView all = elements_of(kept);
    const std::size_t first = sums.size() + own.offset / kSquaresPiece;
    sums.resize(sums.size() + pieces_of(all.count));
    sums_of_squares({all.data + own.offset * size_of(all.type), own.count, all.type},
                    std::span(sums).subspan(first, pieces_of(own.count)));
  };
  Owners* const owners = options_.owners;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!entry.slot.defined() || !entry.grad().defined()) continue;
    add(entry.grad(), part_of(i, owners == nullptr ? 0 : owners->rank()));
  }
  if (owners != nullptr) {
    all_reduce(owners->comm(), view(sums), {.name = "squares of gradients"});
  }
  for (const at::Tensor& whole : outside_buckets()) {
    add(whole, {.count = static_cast<std::size_t>(whole.numel())});
  }
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

void Gradients::scale(double factor) {
  const bool known = is_norm_known();
  const std::vector<at::Tensor> pieces = memory();
  const at::NoGradGuard no_grad;
  if (!pieces.empty()) at::_foreach_mul_(pieces, factor);
  if (known) remember_norm(*norm_ * std::abs(factor));
}

// Also remembers which gradients it is the norm of, to see changes that the program makes.
void Gradients::remember_norm(double norm) {
  norm_ = norm;
  for (Entry& entry : entries_) {
    entry.measured = entry.grad().unsafeGetTensorImpl();
    entry.measured_version = entry.grad().defined() ? entry.grad()._version() : 0;
  }
}

bool Gradients::is_norm_known() const {
  return norm_ && std::ranges::all_of(entries_, [](const Entry& entry) {
           const at::Tensor& now = entry.grad();
           return now.unsafeGetTensorImpl() == entry.measured &&
                  (!now.defined() || now._version() == entry.measured_version);
         });
}

void Gradients::announce_rows(const std::string& parameter, std::span<const std::int64_t> rows) {
  const auto entry = std::ranges::find_if(
      entries_, [&](const Entry& one) { return one.is_sparse && one.parameter.name == parameter; });
  if (entry == entries_.end()) {
    refuse("announce_rows() names ", parameter, ", which sparse_gradients does not name");
  }
  if (entry->announced) {
    refuse("announce_rows() twice for ", parameter,
           ": name the rows of all micro-batches of a window in one call");
  }
  if (buckets_.empty()) return;
  entry->announced = std::make_unique<AnnouncedRows>(comm_, entry->parameter, rows);
}

void Gradients::clear() {
  for (Entry& entry : entries_) {
    entry.grad().reset();
    entry.arrived = nullptr;
    entry.is_last = false;
    entry.late.reset();
    entry.has_sums = false;
    entry.announced.reset();
    entry.is_unused = false;
  }
  for (Bucket& bucket : buckets_) bucket.free_all();
  freed_ = 0;
  added_up_ = 0;
  progress_.clear();
  arrivals_.clear();
  expecting_last_ = false;
  has_expected_ = false;
}

void Gradients::require_untouched() const {
  for (const Entry& entry : entries_) {
    if (entry.arrived == nullptr) continue;
    // Its bucket is being summed, while a pass that failed is repeated.
    if (entry.slot.defined() && progress_.has_started(entry.bucket)) continue;
    if (entry.is_untouched() && entry.last_now() == entry.last) continue;
    refuse(
        "the gradient of ", entry.parameter.name,
        entry.is_same()
            ? " was changed inside the window, before the ranks summed it: clip by "
              "clip_grad_norm(), and change gradients only between reduce() and step()"
            : " was cleared or replaced inside the window: leave out zero_grad(), step() empties "
              "the window itself");
  }
}

NamedTensors Gradients::residuals() const {
  NamedTensors all;
  for (const Bucket& bucket : buckets_) {
    if (!bucket.residuals()) {
      continue;
    }
    for (const Slot& slot : bucket.plan().slots) {
      const Parameter& parameter = entries_[slot.parameter].parameter;
      all.emplace_back(parameter.name,
                       tensor_in(bucket.residuals(), DataType::f32, slot, parameter.tensor));
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
    bucket.scale_residuals(factor);
  }
}

std::vector<std::string> Gradients::missing() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.parameter.tensor.requires_grad() && entry.is_unused) {
      names.push_back(entry.parameter.name);
    }
  }
  return names;
}

}  // namespace bp
