// Where memory lies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "bp/export.h"

namespace BP_API bp {

// A device whose memory a collective can use. Collectives on the memory of a CUDA device need
// CUDA's runtime library at run time. CommunicatorOptions::backend tells how the data travel.
struct Device {
  enum class Kind : std::uint8_t { host, cuda };

  Kind kind = Kind::host;
  int index = 0;  // among the devices of its kind that this process sees; 0 for the host

  friend bool operator==(const Device&, const Device&) = default;
};

inline constexpr std::array kDeviceKinds = {Device::Kind::host, Device::Kind::cuda};

[[nodiscard]] std::string_view name_of(Device::Kind kind);  // "cuda"
[[nodiscard]] std::string name_of(const Device& device);    // "host", "cuda:1"

}  // namespace bp
