// The backends of a communicator: at most one for each kind of device.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "comm/backend/backend.h"

namespace bp {

class BackendSet {
 public:
  // `backend` carries out the collectives on every kind of device that it serves. No other backend
  // of the set may serve one of them.
  void add(std::unique_ptr<Backend> backend);

  // Null for a kind that no backend serves.
  [[nodiscard]] Backend* find(Device::Kind kind) const {
    return by_kind_[static_cast<std::size_t>(kind)];
  }
  // The backend for memory that find() has been asked about.
  [[nodiscard]] Backend& on(const Device& device) const { return *find(device.kind); }
  // The backend of host memory, which every communicator has.
  [[nodiscard]] Backend& host() const { return *find(Device::Kind::host); }

  // Calls Backend::abandon() of each.
  void abandon() const {
    for (const auto& backend : backends_) backend->abandon();
  }

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
  std::array<Backend*, kDeviceKinds.size()> by_kind_ = {};
};

}  // namespace bp
