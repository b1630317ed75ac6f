#include "comm/torch/bucket.h"

#include <utility>

#include "base/check.h"
#include "bp/collective.h"
#include "comm/torch/gradient_math.h"

namespace bp {
namespace {

std::shared_ptr<std::byte> floats_of_zero(const Memory& memory, std::size_t count) {
  const std::size_t bytes = count * sizeof(float);
  std::shared_ptr<std::byte> floats = memory.allocate(bytes);
  memory.fill(floats.get(), std::byte{0}, bytes);
  return floats;
}

const float* as_floats(const View& view) { return reinterpret_cast<const float*>(view.data); }
float* as_mutable_floats(const View& view) { return reinterpret_cast<float*>(view.data); }

}  // namespace

Bucket::Bucket(Communicator& comm, BucketPlan plan, std::size_t extra, bool error_feedback)
    : comm_(comm), device_memory_(host_memory()), plan_(std::move(plan)), extra_(extra) {
  BP_CHECK(extra == 0 || plan_.wire == DataType::f32, "totals in another type than f32");
  BP_CHECK(!is_narrowed() || plan_.type == DataType::f32, "only f32 is narrowed");
  buffer_ = std::make_shared<Buffer>(comm.allocate((plan_.count + extra) * size_of(plan_.wire)));
  if (is_narrowed()) {
    memory_ = floats_of_zero(device_memory_, plan_.count);
    if (error_feedback) residuals_ = floats_of_zero(device_memory_, plan_.count);
  } else {
    memory_ = {buffer_, buffer_->data()};
  }
}

std::byte* Bucket::extra() const { return buffer_->data() + plan_.count * sizeof(float); }

void Bucket::write_extra(std::span<const float> values) {
  BP_CHECK(values.size() == extra_, "a bucket is given another number of totals");
  device_memory_.write(extra(), std::as_bytes(values).data(), values.size_bytes());
}

void Bucket::read_extra(std::span<float> values) const {
  BP_CHECK(values.size() == extra_, "a bucket is asked for another number of totals");
  device_memory_.read(std::as_writable_bytes(values).data(), extra(), values.size_bytes());
}

View Bucket::on_wire() const {
  return {buffer_->data(), plan_.count, plan_.wire, buffer_->device()};
}
View Bucket::gradients() const {
  return {memory_.get(), plan_.count, DataType::f32, buffer_->device()};
}
View Bucket::errors() const {
  return {residuals_.get(), plan_.count, DataType::f32, buffer_->device()};
}

void Bucket::clear(const Slot& slot) {
  const std::size_t width = size_of(plan_.type);
  device_memory_.fill(memory_.get() + slot.offset * width, std::byte{0}, slot.count * width);
}

void Bucket::start(const std::string& name) {
  if (is_narrowed()) {
    if (residuals_) add(as_mutable_floats(gradients()), as_floats(errors()), plan_.count);
    device_memory_.convert(on_wire(), gradients());
  }
  name_ = name;
  View all = on_wire();
  all.count += extra_;
  work_ = all_reduce_async(comm_, all, {.op = ReduceOp::sum, .name = name_});
}

bool Bucket::is_finite() const { return device_memory_.is_finite(on_wire()); }

void Bucket::finish(bool count_errors) {
  if (!is_narrowed()) return;
  if (count_errors && residuals_) {
    rounding_errors(plan_.wire, as_mutable_floats(errors()), as_floats(gradients()), plan_.count);
  }
  device_memory_.convert(gradients(), on_wire());
}

void Bucket::scale_residuals(double factor) {
  if (residuals_) device_memory_.scale(errors(), factor);
}

}  // namespace bp
