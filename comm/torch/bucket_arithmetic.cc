// Buckets in the host's memory.
#include "comm/torch/bucket_arithmetic.h"

#include <algorithm>
#include <cstddef>

#include "comm/device/device_memory.h"
#include "comm/torch/give_back.h"
#include "comm/torch/gradient_math.h"

namespace bp {
namespace {

float* floats_in(const View& data) { return reinterpret_cast<float*>(data.data); }
const float* floats_in(const ConstView& data) { return reinterpret_cast<const float*>(data.data); }

class HostBucketArithmetic final : public BucketArithmetic {
 public:
  [[nodiscard]] Device device() const override { return {}; }
  [[nodiscard]] void* stream() const override { return nullptr; }
  void finish_stream() const override {}

  [[nodiscard]] std::shared_ptr<std::byte> floats_of_zero(std::size_t count) const override {
    const std::size_t bytes = count * sizeof(float);
    std::shared_ptr<std::byte> floats = host_memory().allocate(bytes);
    host_memory().fill(floats.get(), std::byte{0}, bytes);
    return floats;
  }
  void clear(const View& data) const override {
    host_memory().fill(data.data, std::byte{0}, data.bytes());
  }
  void give_back(const View& data) const override { bp::give_back({data.data, data.bytes()}); }
  void write(const View& to, std::span<const float> values) const override {
    host_memory().write(to.data, std::as_bytes(values).data(), values.size_bytes());
  }
  std::optional<double> read(std::span<double> values,
                             const ConstView& from,
                             std::span<const ConstView> /*sums*/) const override {
    if (from.type == DataType::f64) {
      std::copy_n(reinterpret_cast<const double*>(from.data), values.size(), values.begin());
    } else {
      std::copy_n(floats_in(from), values.size(), values.begin());
    }
    return std::nullopt;
  }
  void add(const View& into, const ConstView& what) const override {
    bp::add(floats_in(into), floats_in(what), into.count);
  }
  void scale(const View& data, double factor) const override { host_memory().scale(data, factor); }
  void convert(const View& to, const ConstView& from) const override {
    host_memory().convert(to, from);
  }
  void rounding_errors(DataType half, const View& errors, const ConstView& values) const override {
    bp::rounding_errors(half, floats_in(errors), floats_in(values), values.count);
  }
};

}  // namespace

const BucketArithmetic& host_bucket_arithmetic() {
  static const HostBucketArithmetic kArithmetic{};
  return kArithmetic;
}

}  // namespace bp
