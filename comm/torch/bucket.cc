#include "comm/torch/bucket.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "bp/collective.h"

namespace bp {
namespace {

View elements_at(View data, std::size_t offset, std::size_t count) {
  data.data += offset * size_of(data.type);
  data.count = count;
  return data;
}

}  // namespace

Bucket::Bucket(Communicator& comm,
               BucketPlan plan,
               std::size_t extra,
               bool error_feedback,
               const Owners* owners,
               bool frees,
               const BucketArithmetic& arithmetic)
    : comm_(comm),
      arithmetic_(arithmetic),
      plan_(std::move(plan)),
      extra_(extra),
      frees_(frees),
      own_{.count = plan_.count} {
  BP_CHECK(extra == 0 || plan_.wire == DataType::f32, "totals in another type than f32");
  BP_CHECK(!is_narrowed() || plan_.type == DataType::f32, "only f32 is narrowed");
  buffer_ = std::make_shared<Buffer>(
      comm.allocate((plan_.count + extra) * size_of(summed_type()), arithmetic.device()));
  if (owners != nullptr) {
    counts_ = owned_counts(plan_, owners->shares());
    own_ = part_of(owners->rank());
    scatters_ = owners->are_all() && extra == 0 && !is_int8();
  }
  if (is_narrowed()) {
    memory_ = arithmetic.floats_of_zero(plan_.count);
  } else {
    memory_ = {buffer_, buffer_->data()};
  }
  if (error_feedback && plan_.wire != plan_.type) {
    residuals_ = arithmetic.floats_of_zero(plan_.count);
  }
  if (is_int8()) new_errors_ = arithmetic.floats_of_zero(plan_.count);
}

Block Bucket::part_of(int owner) const {
  if (counts_.empty()) return {.count = plan_.count};
  const auto own = counts_.begin() + owner;
  return {.offset = std::accumulate(counts_.begin(), own, std::size_t{0}), .count = *own};
}

View Bucket::wire() const {
  return {buffer_->data(), plan_.count, summed_type(), buffer_->device()};
}
View Bucket::sums() const { return elements_at(wire(), own_.offset, own_.count); }
View Bucket::extra() const {
  return {buffer_->data() + plan_.count * size_of(summed_type()), extra_, DataType::f32,
          buffer_->device()};
}
View Bucket::gradients() const {
  return {memory_.get(), plan_.count, DataType::f32, buffer_->device()};
}
View Bucket::errors() const {
  return {residuals_.get(), plan_.count, DataType::f32, buffer_->device()};
}

void Bucket::write_extra(std::span<const float> values) {
  BP_CHECK(values.size() == extra_, "a bucket is given another number of totals");
  arithmetic_.write(extra(), values);
}

void Bucket::clear(const Slot& slot) {
  arithmetic_.clear({memory_.get() + slot.offset * size_of(plan_.type), slot.count, plan_.type,
                     buffer_->device()});
  empty_.push_back(slot.offset);
}

template <class Act>
void Bucket::for_filled(const Act& act) const {
  if (empty_.empty()) return act(0, plan_.count);
  for (const Slot& slot : plan_.slots) {
    if (std::ranges::count(empty_, slot.offset) == 0) act(slot.offset, slot.count);
  }
}

void Bucket::start(const std::string& name) {
  if (residuals_) {
    for_filled([this](std::size_t offset, std::size_t count) {
      arithmetic_.add(elements_at(gradients(), offset, count),
                      elements_at(errors(), offset, count));
    });
  }
  if (is_narrowed()) {
    arithmetic_.convert(wire(), gradients());
    if (frees_) arithmetic_.give_back(gradients());
  }
  name_ = name;
  const CollectiveOptions sum{.op = ReduceOp::sum, .name = name_, .stream = arithmetic_.stream()};
  View all = wire();
  all.count += extra_;
  if (is_int8()) {
    float* const lost = reinterpret_cast<float*>(new_errors_.get());
    work_ = all_reduce_int8_async(comm_, all, {lost, plan_.count}, sum);
    return;
  }
  work_ = scatters_ ? reduce_scatter_v_async(comm_, all, sums(), counts_, sum)
                    : all_reduce_async(comm_, all, sum);
}

// A rank rounds for others too, also a slot in which it has no gradient.
void Bucket::finish(bool count_errors) {
  if (is_int8() && count_errors) {
    for_filled([this](std::size_t offset, std::size_t count) {
      arithmetic_.clear(elements_at(errors(), offset, count));
    });
    arithmetic_.add(errors(), {new_errors_.get(), plan_.count, DataType::f32, buffer_->device()});
  }
  if (is_narrowed()) {
    if (count_errors && residuals_) {
      for_filled([this](std::size_t offset, std::size_t count) {
        arithmetic_.rounding_errors(plan_.wire, elements_at(errors(), offset, count),
                                    elements_at(gradients(), offset, count));
      });
    }
    arithmetic_.convert(elements_at(gradients(), own_.offset, own_.count), sums());
  }
  empty_.clear();
}

void Bucket::scale_residuals(double factor) {
  if (residuals_) arithmetic_.scale(errors(), factor);
}

void Bucket::free_sums_of_others(bool zeroes) {
  if (!frees_) return;
  const std::size_t end = own_.offset + own_.count;
  for (const View& part :
       {elements_at(wire(), 0, own_.offset), elements_at(wire(), end, plan_.count - end)}) {
    if (zeroes) arithmetic_.clear(part);
    arithmetic_.give_back(part);
  }
}

void Bucket::free_all() {
  if (!frees_) return;
  arithmetic_.give_back(wire());
  if (is_narrowed()) arithmetic_.give_back(gradients());
}

void BucketProgress::clear() {
  expect_no_more();
  next_ = 0;
}

void BucketProgress::expect_no_more() { std::ranges::fill(outstanding_, 0); }

std::optional<std::size_t> BucketProgress::next() {
  if (next_ == outstanding_.size() || outstanding_[next_] > 0) return std::nullopt;
  return next_++;
}

}  // namespace bp
