// NVIDIA's driver (libcuda.so.1) without a GPU, for programs that list GPUs by it. It has the
// devices of the fake CUDA runtime.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR

int devices() {
  const char* const text = std::getenv("FAKE_CUDA_DEVICES");
  return text == nullptr ? 1 : std::atoi(text);
}

}  // namespace

#define FAKE_DRIVER(name, ...)                                             \
  extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__); \
  extern "C" int name(__VA_ARGS__)

FAKE_DRIVER(cuInit, unsigned) { return kSuccess; }
FAKE_DRIVER(cuDeviceGetCount, int* count) {
  *count = devices();
  return kSuccess;
}
FAKE_DRIVER(cuDeviceGet, int* device, int index) {
  *device = index;
  return index >= 0 && index < devices() ? kSuccess : kInvalidValue;
}
FAKE_DRIVER(cuDeviceGetName, char* name, int size, int device) {
  const std::string own = "fake GPU " + std::to_string(device);
  const std::size_t length = std::min(own.size(), static_cast<std::size_t>(size) - 1);
  own.copy(name, length);
  name[length] = '\0';
  return kSuccess;
}
FAKE_DRIVER(cuDeviceTotalMem_v2, std::size_t* bytes, int) {
  *bytes = std::size_t{16} << 30;
  return kSuccess;
}
FAKE_DRIVER(cuDeviceGetAttribute, int* value, int attribute, int) {
  *value = attribute == kMajor ? 9 : 0;
  return kSuccess;
}
