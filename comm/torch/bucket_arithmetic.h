// The operations of a bucket on its memory, on the host or on a device. Needs no LibTorch.
//
// On a device a call adds its work to stream(), after what that stream has already, and returns at
// once; only read() blocks. On the host a call returns when its work is complete.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "bp/types.h"

namespace bp {

class BucketArithmetic {
 public:
  BucketArithmetic() = default;
  BucketArithmetic(const BucketArithmetic&) = delete;
  BucketArithmetic& operator=(const BucketArithmetic&) = delete;
  virtual ~BucketArithmetic() = default;

  // The device of all views that the other functions get.
  [[nodiscard]] virtual Device device() const = 0;
  // Returns the calling thread's stream, as CollectiveOptions::stream takes it.
  [[nodiscard]] virtual void* stream() const = 0;
  // Blocks until the stream has done its work, so that memory which it used can be freed.
  virtual void finish_stream() const = 0;

  // Returns `count` f32 elements of new memory, aligned to 64 bytes.
  [[nodiscard]] virtual std::shared_ptr<std::byte> floats_of_zero(std::size_t count) const = 0;
  virtual void clear(const View& data) const = 0;
  // Frees the whole pages of it, which read as zeros then. Not on a device.
  virtual void give_back(const View& /*data*/) const {}
  // Writes f32 elements. The host's `values` must have as many as the view.
  virtual void write(const View& to, std::span<const float> values) const = 0;
  // Reads f32 or f64 elements; `values` must have as many as the view. A device also returns the
  // 2-norm of all elements of `sums`, with the same wait. It is computed in double precision, in an
  // order that depends on the device. The host computes no norm.
  virtual std::optional<double> read(std::span<double> values,
                                     const ConstView& from,
                                     std::span<const ConstView> sums) const = 0;
  // Adds `what` to `into`, both f32.
  virtual void add(const View& into, const ConstView& what) const = 0;
  virtual void scale(const View& data, double factor) const = 0;
  // Converts between f32 and a half, and rounds to nearest even.
  virtual void convert(const View& to, const ConstView& from) const = 0;
  // errors = values - (values rounded to `half`), in f32, which is exact.
  virtual void rounding_errors(DataType half,
                               const View& errors,
                               const ConstView& values) const = 0;
};

[[nodiscard]] const BucketArithmetic& host_bucket_arithmetic();

}  // namespace bp
