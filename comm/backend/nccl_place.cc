#include "comm/backend/nccl_place.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

#include "base/text.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device.h"
#include "comm/device/nccl_api.h"

namespace bp {
namespace {

template <std::size_t N>
void put(std::array<char, N>& to, const std::string& text) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to.begin());
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Containers of one machine have one boot id, as they have the same devices.
std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id.empty() ? own_host_name() : id;
}

// Returns the first text that there is for two ranks.
template <class Text>
std::string of_two_ranks(std::span<const NcclPlace> places, const Text& text) {
  for (std::size_t b = 1; b < places.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (std::string found = text(a, b); !found.empty()) return found;
    }
  }
  return "";
}

}  // namespace

NcclPlace nccl_place(int device) {
  const CudaRuntime& cuda = cuda_runtime();
  NcclPlace place;
  const CudaRuntime::Code code =
      cuda.bus_id(place.bus_id.data(), static_cast<int>(place.bus_id.size()), device);
  if (code != CudaRuntime::kSuccess) {
    throw DeviceFailure(
        concat("cudaDeviceGetPCIBusId on cuda:", device, " failed: ", cuda.error(code)));
  }
  put(place.machine, machine_id());
  put(place.host, own_host_name());
  place.version = nccl_api().number;
  return place;
}

std::string find_shared_device(std::span<const NcclPlace> places) {
  return of_two_ranks(places, [&](std::size_t a, std::size_t b) -> std::string {
    const bool same =
        places[a].machine == places[b].machine && places[a].bus_id == places[b].bus_id;
    if (!same) return "";
    return concat("ranks ", a, " and ", b, " use the same CUDA device, ", places[a].bus_id.data(),
                  " of ", places[a].host.data());
  });
}

std::string find_other_version(std::span<const NcclPlace> places) {
  return of_two_ranks(places, [&](std::size_t a, std::size_t b) -> std::string {
    if (places[a].version == places[b].version) return "";
    return concat("rank ", a, " has NCCL ", nccl_version_text(places[a].version), ", and rank ", b,
                  " NCCL ", nccl_version_text(places[b].version));
  });
}

}  // namespace bp
