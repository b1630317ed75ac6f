// Makes a device the calling thread's current one, which it is for the program's own calls too,
// until the end of a block.
#pragma once

#include "comm/device/cuda_runtime.h"

namespace bp {

class CurrentCudaDevice {
 public:
  CurrentCudaDevice(const CudaRuntime& runtime, int index) : runtime_(runtime) {
    if (runtime_.get_device(&before_) == CudaRuntime::kSuccess && before_ == index) before_ = -1;
    if (before_ >= 0) static_cast<void>(runtime_.set_device(index));
  }
  ~CurrentCudaDevice() {
    if (before_ >= 0) static_cast<void>(runtime_.set_device(before_));
  }
  CurrentCudaDevice(const CurrentCudaDevice&) = delete;
  CurrentCudaDevice& operator=(const CurrentCudaDevice&) = delete;

 private:
  const CudaRuntime& runtime_;
  int before_ = -1;  // the device to go back to; -1: none
};

}  // namespace bp
