#include "comm/backend/backend_set.h"

#include <utility>

#include "base/check.h"

namespace bp {

void BackendSet::add(std::unique_ptr<Backend> backend) {
  for (const Device::Kind kind : kDeviceKinds) {
    if (!backend->serves(kind)) continue;
    Backend*& place = by_kind_[static_cast<std::size_t>(kind)];
    BP_CHECK(place == nullptr, "two backends of a communicator serve one kind of device");
    place = backend.get();
  }
  backends_.push_back(std::move(backend));
}

}  // namespace bp
