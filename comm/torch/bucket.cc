#include "comm/torch/bucket.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "bp/collective.h"
#include "comm/reduce/halves.h"
#include "comm/torch/gradient_math.h"

namespace bp {
namespace {

std::shared_ptr<std::byte> floats_of_zero(std::size_t count) {
  constexpr std::size_t kLine = 64;
  const std::size_t bytes = (count * sizeof(float) / kLine + 1) * kLine;
  void* const memory = std::aligned_alloc(kLine, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), std::free};
}

}  // namespace

Bucket::Bucket(Communicator& comm, BucketPlan plan, std::size_t extra, bool error_feedback)
    : comm_(comm), plan_(std::move(plan)), extra_(extra) {
  BP_CHECK(extra == 0 || plan_.wire == DataType::f32, "totals in another type than f32");
  BP_CHECK(!is_narrowed() || plan_.type == DataType::f32, "only f32 is narrowed");
  buffer_ = std::make_shared<Buffer>(comm.allocate((plan_.count + extra) * size_of(plan_.wire)));
  if (is_narrowed()) {
    memory_ = floats_of_zero(plan_.count);
    if (error_feedback) residuals_ = floats_of_zero(plan_.count);
  } else {
    memory_ = {buffer_, buffer_->data()};
  }
}

float* Bucket::extra() const { return reinterpret_cast<float*>(buffer_->data()) + plan_.count; }

void Bucket::clear(const Slot& slot) {
  const std::size_t width = size_of(plan_.type);
  std::memset(memory_.get() + slot.offset * width, 0, slot.count * width);
}

void Bucket::start(const std::string& name) {
  if (is_narrowed()) {
    if (residuals_) add(gradients(), errors(), plan_.count);
    narrow(plan_.wire, buffer_->data(), memory_.get(), plan_.count);
  }
  name_ = name;
  work_ = all_reduce_async(
      comm_, {.data = buffer_->data(), .count = plan_.count + extra_, .type = plan_.wire},
      {.op = ReduceOp::sum, .name = name_});
}

bool Bucket::is_finite() const { return all_finite(plan_.wire, buffer_->data(), plan_.count); }

void Bucket::finish(bool count_errors) {
  if (!is_narrowed()) return;
  if (count_errors && residuals_) rounding_errors(plan_.wire, errors(), gradients(), plan_.count);
  widen(plan_.wire, memory_.get(), buffer_->data(), plan_.count);
}

void Bucket::scale_residuals(double factor) {
  if (!residuals_) return;
  for (std::size_t i = 0; i < plan_.count; ++i) errors()[i] *= static_cast<float>(factor);
}

}  // namespace bp
