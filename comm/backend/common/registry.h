// The backends that CommunicatorOptions::backend can name. Everything that lists, checks or
// explains backends reads this table. The table holds no factory: bprun reads it too, and must not
// link the kernels, whose library takes 4 ms to load. comm/backend/backends.h makes each backend,
// by a switch over BackendId that the compiler keeps complete.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bp/device.h"

namespace bp {

enum class BackendId : std::uint8_t { shm, gloo, gloo_native, gloo_native_batch, nccl };

struct BackendEntry {
  BackendId id = BackendId::gloo;
  std::string_view name = {};  // "gloo-native"
  std::string_view what = {};  // what moves the data, for help texts
  // Those that it serves. Host memory is served in any case, if need be as by "auto".
  std::span<const Device::Kind> devices = {};
  bool spans_hosts = true;  // false: all ranks must be on one host
  // Why all_reduce has no choice of algorithms; empty where it has.
  std::string_view no_choice = {};
  // Looks for what the backend needs. Returns why this process cannot use the backend and what to
  // do about it, or nothing.
  std::string (*find_problem)() = nullptr;
};

// The name that leaves the choice to bp.
inline constexpr std::string_view kAutomaticBackend = "auto";

[[nodiscard]] std::span<const BackendEntry> backend_registry();

// Null for a name that is not in the registry, such as "auto".
[[nodiscard]] const BackendEntry* find_backend(std::string_view name);

// "shm, gloo": those that serve such devices; empty for none.
[[nodiscard]] std::string backends_serving(Device::Kind kind);

// "auto, shm, gloo, ...": all values of CommunicatorOptions::backend.
[[nodiscard]] std::string backend_choices();

}  // namespace bp
