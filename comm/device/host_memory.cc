// The host's memory.
#include <algorithm>
#include <new>

#include "base/check.h"
#include "comm/device/device_memory.h"
#include "comm/reduce/copy.h"
#include "comm/reduce/finite.h"
#include "comm/reduce/halves.h"
#include "comm/reduce/reduce.h"

namespace bp {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector

class HostMemory final : public Memory {
 public:
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) const override {
    void* const memory = ::operator new(std::max(bytes, std::size_t{1}), kAlignment);
    return {static_cast<std::byte*>(memory),
            [](std::byte* freed) { ::operator delete(freed, kAlignment); }};
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_on_host(std::size_t bytes) const override {
    return allocate(bytes);
  }
  void fill(std::byte* at, std::byte value, std::size_t bytes) const override {
    std::fill_n(at, bytes, value);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    copy_bytes(to, from, bytes);
  }
  void write(std::byte* to, const std::byte* host, std::size_t bytes) const override {
    copy_bytes(to, host, bytes);
  }
  void read(std::byte* host, const std::byte* from, std::size_t bytes) const override {
    copy_bytes(host, from, bytes);
  }
  void pack(const View& packed, std::span<const View> pieces) const override {
    std::byte* at = packed.data;
    for (const View& piece : pieces) {
      copy_bytes(at, piece.data, piece.bytes());
      at += piece.bytes();
    }
  }
  void unpack(const View& packed, std::span<const View> pieces) const override {
    const std::byte* at = packed.data;
    for (const View& piece : pieces) {
      copy_bytes(piece.data, at, piece.bytes());
      at += piece.bytes();
    }
  }
  void scale(const View& data, double factor) const override {
    bp::scale(data.type, data.data, data.count, factor);
  }
  void finish_average(const View& data, int ranks) const override {
    bp::finish_average(data.type, data.data, data.count, ranks);
  }
  void convert(const View& to, const ConstView& from) const override {
    BP_CHECK(to.count == from.count, "a conversion to another number of elements");
    BP_CHECK((to.type == DataType::f32) != (from.type == DataType::f32),
             "a conversion is between f32 and a half");
    if (to.type == DataType::f32) {
      widen(from.type, to.data, from.data, to.count);
    } else {
      narrow(to.type, to.data, from.data, to.count);
    }
  }
  [[nodiscard]] bool is_finite(const ConstView& data) const override {
    return all_finite(data.type, data.data, data.count);
  }
  [[nodiscard]] std::shared_ptr<const DeviceEvent> record(void* /*stream*/) const override {
    return nullptr;
  }
  [[nodiscard]] bool computes(const ConstView& /*data*/) const override { return true; }
  [[nodiscard]] std::unique_ptr<const Memory> on_stream(void* /*stream*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<const Memory> on_own_stream() const override { return nullptr; }
  [[nodiscard]] std::shared_ptr<const DeviceEvent> end() const override { return nullptr; }
  void wait_for(const DeviceEvent& /*event*/) const override {}
};

}  // namespace

const Memory& host_memory() {
  static const HostMemory kMemory{};
  return kMemory;
}

}  // namespace bp
