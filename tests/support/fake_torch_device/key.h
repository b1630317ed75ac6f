// Under which key and type of device LibTorch knows the fake device: as PrivateUse1 beside CUDA, or
// as CUDA in place of LibTorch's own library. CMake compiles the sources once for each.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/DispatchKey.h>

namespace fake_torch_device {

inline constexpr c10::DeviceType kType = c10::DeviceType::FAKE_TORCH_KEY;
inline constexpr c10::DispatchKey kKey = c10::DispatchKey::FAKE_TORCH_KEY;

}  // namespace fake_torch_device
