// The names of the public enumerators.
#include <array>
#include <cstddef>

#include "bp/device.h"
#include "bp/error.h"
#include "bp/types.h"

namespace bp {

std::string_view name_of(Device::Kind kind) {
  switch (kind) {
    case Device::Kind::host:
      return "host";
    case Device::Kind::cuda:
      return "cuda";
  }
  return "unknown device";
}

std::string name_of(const Device& device) {
  std::string name(name_of(device.kind));
  if (device.kind != Device::Kind::host) name += ":" + std::to_string(device.index);
  return name;
}

std::string_view name_of(DataType type) {
  switch (type) {
#define BP_ROW(name, text, ...) \
  case DataType::name:          \
    return text;
    BP_DATA_TYPES(BP_ROW)
#undef BP_ROW
  }
  return "unknown type";
}

std::string_view name_of(ReduceOp op) {
  switch (op) {
#define BP_ROW(name, ...) \
  case ReduceOp::name:    \
    return #name;
    BP_REDUCE_OPS(BP_ROW)
#undef BP_ROW
  }
  return "unknown reduction";
}

std::string_view name_of(ErrorCode code) {
  constexpr std::array<std::string_view, 7> kNames = {
      // in the order of ErrorCode
      "invalid_argument", "mismatch", "timeout", "peer_lost", "io", "aborted", "unavailable"};
  static_assert(kNames.size() == static_cast<std::size_t>(ErrorCode::unavailable) + 1);
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown error";
}

}  // namespace bp
