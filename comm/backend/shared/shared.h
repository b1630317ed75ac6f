// The backend of ranks of one host, which work in memory that they share (shared_vectors.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bp/collective.h"
#include "comm/backend/common/backend.h"
#include "comm/backend/network/exchange.h"
#include "comm/backend/shared/shared_vectors.h"

namespace bp {

class SharedBackend : public Backend {
 public:
  // As SharedVectors has them.
  SharedBackend(std::shared_ptr<SharedHost> host,
                std::vector<PhaseBarrier::Location> channels,
                int rank,
                std::size_t chunk = SharedChannel::kChunk);

  [[nodiscard]] std::string_view name() const override { return "shm"; }
  // run() records how it really moved the data: "inline", "staged", "direct", "single-copy".
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind, std::size_t) const override {
    return kind == Operation::Kind::barrier ? "flags" : "direct";
  }
  void run(const Operation& operation, CollectiveCall& call) override;
  [[nodiscard]] bool is_settled() const override { return vectors_.is_settled(); }
  void settle(CollectiveCall& call) override { vectors_.settle(call); }
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes, const Device&) override {
    return allocate_shared(vectors_.host(), bytes);
  }

 private:
  void exchange(const Operation& operation, CollectiveCall& call, const CountTable& table);

  SharedVectors vectors_;
  Exchange exchange_;  // of the present call, in memory of the calls before
};

}  // namespace bp
