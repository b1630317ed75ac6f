// Collectives on the memory of devices by way of host memory: copies what a rank gives to the host,
// lets the backend of host memory carry out the operation, and copies the result back. It needs
// nothing of the device but copies, so it serves ranks that share a device, and jobs in which only
// some ranks have one.
#pragma once

#include <cstddef>
#include <string_view>

#include "comm/backend/backend.h"
#include "comm/device/scratch.h"

namespace bp {

class StagedBackend : public Backend {
 public:
  // `host` must outlive it.
  explicit StagedBackend(Backend& host) : host_(host) {}

  [[nodiscard]] std::string_view name() const override { return "staged"; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override {
    return host_.algorithm_of(kind, bytes);
  }
  [[nodiscard]] bool serves(Device::Kind kind) const override { return kind != Device::Kind::host; }
  // Returns when the output is complete in the memory of the device.
  void run(const Operation& operation, CollectiveCall& call) override;

 private:
  Backend& host_;
  ScratchMemory room_{ScratchMemory::Place::on_host};
};

}  // namespace bp
