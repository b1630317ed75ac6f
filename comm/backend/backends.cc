#include "comm/backend/backends.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "comm/backend/common/backend.h"
#include "comm/backend/common/pieces.h"
#include "comm/backend/shared/shared.h"
#include "comm/device/device_memory.h"

namespace bp {
namespace {

// A backend for host memory that carries out long operations in pieces. Ranks with device memory
// stage it in the same pieces, so all ranks carry out the same operations.
class PiecewiseBackend : public Backend {
 public:
  // A piece has at most `bytes`, which must not be 0. `algorithm` is the one that the communicator
  // was created with.
  PiecewiseBackend(std::unique_ptr<Backend> whole, std::size_t bytes, std::string_view algorithm)
      : whole_(std::move(whole)),
        bytes_(bytes),
        agreed_(concat(algorithm, " in pieces of ", bytes, " bytes")) {}

  [[nodiscard]] std::string_view name() const override { return whole_->name(); }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override {
    return whole_->algorithm_of(kind, bytes);
  }
  // Ranks whose pieces differ get a mismatch.
  [[nodiscard]] std::string_view agreed_algorithm(const Operation& operation,
                                                  std::string_view chosen) const override {
    return Pieces(operation, bytes_).count() > 1 ? agreed_ : chosen;
  }
  void run(const Operation& operation, CollectiveCall& call) override {
    const Pieces pieces(operation, bytes_);
    for (std::size_t i = 0; i < pieces.count(); ++i) whole_->run(pieces.at(i), call);
  }
  [[nodiscard]] bool is_settled() const override { return whole_->is_settled(); }
  void settle(CollectiveCall& call) override { whole_->settle(call); }

 private:
  std::unique_ptr<Backend> whole_;
  std::size_t bytes_;
  std::string agreed_;
};

// Collectives of one rank: the output is the input.
class SelfBackend : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "self"; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind, std::size_t) const override {
    return "none";
  }

  void run(const Operation& operation, CollectiveCall& call) override {
    call.use(algorithm_of(operation.kind, 0));
    const ConstView& from = operation.input;
    if (from.bytes() == 0 || from.data == operation.output.data) return;
    memory_of(operation.device).copy(operation.output.data, from.data, from.bytes());
  }
};

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

std::unique_ptr<Backend> make_backend(BackendParts parts) {
  static_cast<void>(parse_algorithm(parts.algorithm, parts.topology.local_sizes));
  if (parts.topology.size() == 1) return std::make_unique<SelfBackend>();
  std::unique_ptr<Backend> inside;
  if (parts.topology.local_size() == 1) {
    inside = std::make_unique<SelfBackend>();
  } else if (parts.shared) {
    inside = std::make_unique<SharedBackend>(parts.shared, std::move(parts.channels),
                                             parts.topology.local_rank(), parts.shared_chunk);
    if (parts.topology.hosts() == 1) return inside;
  }
  return std::make_unique<CpuBackend>(std::move(parts), std::move(inside));
}

}  // namespace bp
