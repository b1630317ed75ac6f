// A test program that includes this file has the fake device of LibTorch, "fake", over the fake
// CUDA runtime. Its memory is the runtime's, so bp and LibTorch share pointers and streams: a
// tensor on fake:1 is on bp's device {cuda, 1}, and c10::Stream::native_handle() is a stream of the
// runtime. The other direction is
//
//   c10::Stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(handle))
//
// With FAKE_TORCH_AS_CUDA=1 in the environment the device is LibTorch's CUDA. A program that opens
// libtorch_cuda.so gets that, and NVIDIA's driver with it, if kFakeGpuDir is in LD_LIBRARY_PATH and
// BP_CUDA_RUNTIME names the fake CUDA runtime.
//
// Operators are kernels on the current stream: work of other streams that no event orders with
// them ends the process, and so does the end of a tensor that another stream may still use.
//
// Threads: any. Backward passes run on one thread for each device, as with CUDA; so ranks that are
// threads of one process need a device each (FAKE_CUDA_DEVICES) if their hooks wait for each other.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include <c10/core/Device.h>

#include "tests/support/fake_cuda/use.h"
#include "tests/support/fake_torch_device/folder.h"
#include "tests/support/places.h"

namespace bp::test {

inline bool fakes_cuda() { return std::getenv("FAKE_TORCH_AS_CUDA") != nullptr; }

inline void* load_fake_torch_device() {
  const std::string fake =
      fakes_cuda() ? kFakeGpuDir + "/libtorch_cuda.so" : kTestsDir + "/libfake_torch_device.so";
  const std::string file = runs_on_gpu() ? "libtorch_cuda.so" : fake;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library != nullptr) return library;
  std::cerr << ::dlerror() << '\n';
  std::abort();
}
inline void* const kUsesFakeTorchDevice = load_fake_torch_device();

// Returns the device that tests use for the one with this index of the machine.
inline c10::Device torch_device(int index = 0) {
  const bool is_cuda = runs_on_gpu() || fakes_cuda();
  const auto type = is_cuda ? c10::DeviceType::CUDA : c10::DeviceType::PrivateUse1;
  return {type, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace bp::test
