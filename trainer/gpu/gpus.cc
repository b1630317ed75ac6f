#include "trainer/gpu/gpus.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>

#include "base/text.h"

namespace bp::trainer {
namespace {

using Code = int;
constexpr Code kNoDevice = 100;
constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR

// The functions of CUDA's driver that this file needs. Their signatures never change.
struct Driver {
  Code (*init)(unsigned flags) = nullptr;
  Code (*count)(int* count) = nullptr;
  Code (*get)(int* device, int index) = nullptr;
  Code (*name)(char* name, int size, int device) = nullptr;
  Code (*memory)(std::size_t* bytes, int device) = nullptr;
  Code (*attribute)(int* value, int attribute, int device) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// Never closed, because LibTorch will use it, too.
bool open_driver(Driver& driver) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library != nullptr && find(library, "cuInit", driver.init) &&
         find(library, "cuDeviceGetCount", driver.count) &&
         find(library, "cuDeviceGet", driver.get) &&
         find(library, "cuDeviceGetName", driver.name) &&
         find(library, "cuDeviceTotalMem_v2", driver.memory) &&
         find(library, "cuDeviceGetAttribute", driver.attribute);
}

Gpu describe(const Driver& driver, int index) {
  Gpu gpu;
  int device = 0;
  std::array<char, 128> name{};
  std::size_t memory = 0;
  if (driver.get(&device, index) != 0) return gpu;
  static_cast<void>(driver.name(name.data(), static_cast<int>(name.size()) - 1, device));
  static_cast<void>(driver.memory(&memory, device));
  static_cast<void>(driver.attribute(&gpu.major, kMajor, device));
  gpu.name = name.data();
  gpu.memory = static_cast<std::int64_t>(memory);
  return gpu;
}

}  // namespace

VisibleGpus visible_gpus() {
  Driver driver;
  if (!open_driver(driver)) return {{}, "there is no NVIDIA driver (libcuda.so.1)"};
  const Code code = driver.init(0);
  if (code != 0 && code != kNoDevice) {
    return {{}, concat("NVIDIA's driver does not start (error ", code, " of cuInit)")};
  }
  int count = 0;
  if (code == kNoDevice || driver.count(&count) != 0 || count == 0) {
    return {{}, "NVIDIA's driver shows no GPU to this process"};
  }
  VisibleGpus result;
  for (int index = 0; index < count; ++index) result.gpus.push_back(describe(driver, index));
  return result;
}

GpuChoice choose_gpu(const VisibleGpus& visible, const GpuPlace& place) {
  if (visible.gpus.empty()) return {-1, visible.problem};
  const auto count = static_cast<int>(visible.gpus.size());
  if (place.local_rank < count && place.local_ranks <= count) return {place.local_rank};
  if (place.shares && count == 1) return {0};
  return {-1,
          concat("the ", place.local_ranks, " ranks of this host see ", count,
                 count == 1 ? " GPU" : " GPUs", "; bprun --gpus all --share-gpus lets them share")};
}

}  // namespace bp::trainer
