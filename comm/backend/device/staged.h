// Collectives on the memory of devices by way of host memory: copies what a rank gives to the host,
// lets the backend of host memory carry out the operation, and copies the result back. It needs
// nothing of the device but copies, so it serves ranks that share a device, and jobs in which only
// some ranks have one.
//
// Long operations that work in place may go in pieces, so that copies overlap with the operation of
// the host and need little pinned memory. All others are copied as a whole.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "comm/backend/common/backend.h"
#include "comm/device/scratch.h"

namespace bp {

class PieceStage;

class StagedBackend : public Backend {
 public:
  // A piece has at most `piece` bytes; 0: operations are not cut. If they are, `host` must be a
  // PiecewiseBackend with pieces of the same size. `host` must outlive this object.
  explicit StagedBackend(Backend& host, std::size_t piece = 0);
  ~StagedBackend() override;

  [[nodiscard]] std::string_view name() const override { return "staged"; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override {
    return host_.algorithm_of(kind, bytes);
  }
  [[nodiscard]] bool serves(Device::Kind kind) const override { return kind != Device::Kind::host; }
  [[nodiscard]] std::string_view agreed_algorithm(const Operation& operation,
                                                  std::string_view chosen) const override {
    return host_.agreed_algorithm(operation, chosen);
  }
  // Returns when the output is complete in the memory of the device.
  void run(const Operation& operation, CollectiveCall& call) override;

 private:
  void run_in_pieces(const Operation& operation, CollectiveCall& call);
  void stage_pieces(const Operation& operation, CollectiveCall& call);

  Backend& host_;
  std::size_t piece_;
  std::unique_ptr<PieceStage> stage_;  // null: not needed yet
  ScratchMemory room_{ScratchMemory::on_host};
};

}  // namespace bp
