// NVIDIA's driver (libcuda.so.1) without a GPU, for programs that list GPUs by it. It has the
// devices of the fake CUDA runtime.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/visible.h"

namespace {

using fake_cuda::visible_devices;

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;
constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR

}  // namespace

#define FAKE_DRIVER(name, ...)                                             \
  extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__); \
  extern "C" int name(__VA_ARGS__)

FAKE_DRIVER(cuInit, unsigned) { return visible_devices().empty() ? kNoDevice : kSuccess; }
FAKE_DRIVER(cuDeviceGetCount, int* count) {
  *count = static_cast<int>(visible_devices().size());
  return kSuccess;
}
FAKE_DRIVER(cuDeviceGet, int* device, int index) {
  *device = index;
  return index >= 0 && index < static_cast<int>(visible_devices().size()) ? kSuccess
                                                                          : kInvalidValue;
}
FAKE_DRIVER(cuDeviceGetName, char* name, int size, int) {
  const std::string own = "fake GPU";
  const std::size_t length = std::min(own.size(), static_cast<std::size_t>(size) - 1);
  own.copy(name, length);
  name[length] = '\0';
  return kSuccess;
}
FAKE_DRIVER(cuDeviceTotalMem_v2, std::size_t* bytes, int) {
  *bytes = fake_cuda::memory_of_devices();
  return kSuccess;
}
FAKE_DRIVER(cuDeviceGetAttribute, int* value, int attribute, int) {
  *value = attribute == kMajor ? 9 : 0;
  return kSuccess;
}
