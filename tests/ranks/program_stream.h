// A stream of a program's own, on the device of the thread's rank, with host memory from and to
// which it copies without waiting.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "bp/types.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "tests/support/fake_cuda/use.h"

namespace bp::test {

class ProgramStream {
 public:
  explicit ProgramStream(Device device = {Device::Kind::cuda, 0}) : device_(device) {
    EXPECT_EQ(cuda().create_stream(&stream_, CudaRuntime::kStreamApart), 0);
    EXPECT_EQ(cuda().allocate_on_host(&pinned_, kBytes, 0), 0);
  }
  ~ProgramStream() {
    EXPECT_EQ(cuda().destroy_stream(stream_), 0);
    EXPECT_EQ(cuda().free_on_host(pinned_), 0);
  }
  ProgramStream(const ProgramStream&) = delete;
  ProgramStream& operator=(const ProgramStream&) = delete;

  [[nodiscard]] void* get() const { return stream_; }
  void pause(int milliseconds) const { pause_stream(stream_, milliseconds); }
  // Adds a copy of these values to the work of the stream.
  void write(const View& to, const std::vector<float>& values) const {
    std::copy(values.begin(), values.end(), static_cast<float*>(pinned_));
    copy(to.data, pinned_, to.bytes());
  }
  // Adds a copy of the view to the work of the stream. finished() has the values.
  void read(const View& from) const { copy(pinned_, from.data, from.bytes()); }
  [[nodiscard]] std::vector<float> finished(std::size_t count) const {
    EXPECT_EQ(cuda().finish_stream(stream_), 0);
    const auto* const values = static_cast<const float*>(pinned_);
    return {values, values + count};
  }
  // The end of the work so far.
  [[nodiscard]] std::shared_ptr<const DeviceEvent> record() const {
    return memory_of(device_).record(stream_);
  }

 private:
  static constexpr std::size_t kBytes = 4096;
  static const CudaRuntime& cuda() { return cuda_runtime(); }
  void copy(void* to, const void* from, std::size_t bytes) const {
    EXPECT_EQ(cuda().copy(to, from, bytes, CudaRuntime::kAnyDirection, stream_), 0);
  }

  Device device_;
  void* stream_ = nullptr;
  void* pinned_ = nullptr;
};

}  // namespace bp::test
