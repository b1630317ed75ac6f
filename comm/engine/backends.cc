#include "comm/engine/backends.h"

#include <utility>

#include "base/check.h"
#include "comm/backend/gloo_native.h"
#include "comm/backend/nccl.h"
#include "comm/backend/piecewise.h"
#include "comm/backend/self.h"
#include "comm/backend/staged.h"

namespace bp {

std::unique_ptr<Backend> make_chosen_backend(const BackendEntry* chosen, GlooTransport& transport) {
  if (chosen == nullptr) return nullptr;
  switch (chosen->id) {
    case BackendId::shm:
    case BackendId::gloo:
    case BackendId::nccl:
      return nullptr;
    case BackendId::gloo_native:
    case BackendId::gloo_native_batch:
      return std::make_unique<GlooNativeBackend>(std::string(chosen->name), transport);
  }
  BP_CHECK(false, "a backend without a factory");
}

namespace {

std::unique_ptr<Backend> make_device_backend(DeviceBackend chosen,
                                             Backend& host,
                                             std::size_t piece) {
  using OnSharedDevice = NcclBackend::OnSharedDevice;
  switch (chosen) {
    case DeviceBackend::staged:
      return std::make_unique<StagedBackend>(host, piece);
    case DeviceBackend::nccl_or_staged:
      return std::make_unique<NcclBackend>(host, OnSharedDevice::stage, piece);
    case DeviceBackend::nccl:
      return std::make_unique<NcclBackend>(host, OnSharedDevice::refuse, piece);
  }
  BP_CHECK(false, "a backend of devices without a factory");
}

}  // namespace

void add_backends(BackendSet& backends,
                  std::unique_ptr<Backend> host,
                  DeviceBackend devices,
                  const StagingPieces& pieces) {
  if (pieces.bytes > 0) {
    host = std::make_unique<PiecewiseBackend>(std::move(host), pieces.bytes, pieces.algorithm);
  }
  backends.add(std::move(host));
  backends.add(make_device_backend(devices, backends.host(), pieces.bytes));
}

bool runs_gloo_as_packaged(const BackendEntry* chosen) {
  return chosen != nullptr && chosen->id == BackendId::gloo_native;
}

std::unique_ptr<Backend> make_backend(BackendParts parts) {
  CpuSetup setup;
  setup.algorithm = parse_algorithm(parts.algorithm, parts.topology.local_sizes);
  if (parts.topology.size() == 1) return std::make_unique<SelfBackend>();
  std::unique_ptr<SharedBackend> inside;
  if (parts.shared && parts.channels.size() > 1) {
    inside = std::make_unique<SharedBackend>(parts.shared, std::move(parts.channels),
                                             parts.topology.local_rank(), parts.shared_chunk);
    if (parts.topology.hosts() == 1) return inside;
  }
  setup.transport = parts.transport;
  setup.local_sizes = parts.topology.local_sizes;
  setup.shares_memory = parts.shared != nullptr;
  setup.limits = parts.segments;
  setup.measured = std::move(parts.measured);
  return std::make_unique<CpuBackend>(std::move(setup), std::move(inside));
}

}  // namespace bp
