// Collectives on the memory of CUDA devices by NCCL. What NCCL does not have, or has with another
// meaning, goes through host memory: all_to_all, gather, scatter, parts of unequal lengths,
// averages of integers, reductions of bits, types without numbers.
//
// Before an operation of NCCL the ranks meet on the host, where those that ask for different
// operations do not meet: NCCL compares nothing, and would hang or mix their data. So no kernel
// waits for a rank that is not there.
//
// The whole of an operation is enqueued on the device: its factors, average and group too. If they
// need arithmetic for which no kernels exist, or if data go through host memory, the host waits.
//
// The ranks connect at the first operation that NCCL carries out, which says which device each of
// them uses. NCCL needs another device for each rank.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "comm/backend/nccl_buffers.h"
#include "comm/backend/nccl_ranks.h"
#include "comm/backend/staged.h"

namespace bp {

class NcclBackend : public StagedBackend {
 public:
  // What happens where two ranks use one device.
  enum class OnSharedDevice { stage, refuse };

  // `host` and `piece` are those of StagedBackend.
  NcclBackend(Backend& host, OnSharedDevice on_shared_device, std::size_t piece = 0)
      : StagedBackend(host, piece), host_(host), on_shared_device_(on_shared_device) {}

  [[nodiscard]] std::string_view name() const override {
    return shares_device_ ? StagedBackend::name() : "nccl";
  }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override;
  // A rank that has host memory cannot take part.
  [[nodiscard]] std::string_view agreed_algorithm(const Operation& operation,
                                                  std::string_view chosen) const override {
    return NcclRanks::can_carry_out(operation) ? "nccl"
                                               : StagedBackend::agreed_algorithm(operation, chosen);
  }
  void run(const Operation& operation, CollectiveCall& call) override;
  [[nodiscard]] bool enqueues(const Operation& operation) const override;
  [[nodiscard]] bool prescales(const Operation& operation) const override;
  [[nodiscard]] const Memory& begin(const Operation& operation, CollectiveCall& call) override;
  void end(CollectiveCall& call) override;
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes,
                                                    const Device& device) override;
  void abandon() override;

 private:
  // Returns whether NCCL and the device do all of it. `operation` is not a group.
  [[nodiscard]] bool enqueues_one(const Operation& operation) const;
  [[nodiscard]] bool divides(const Operation& operation) const;
  // Returns memory whose calls are ordered with the part of the operation that run() carries out.
  [[nodiscard]] const Memory& memory_of_part(const Operation& operation) const;
  void add(const Operation& operation, CollectiveCall& call);
  void wait_for_end(CollectiveCall& call);
  void connect(int device, CollectiveCall& call);
  [[nodiscard]] NcclApi::UniqueId share_id(CollectiveCall& call);
  void wait_until_begun(CollectiveCall& call);

  Backend& host_;
  OnSharedDevice on_shared_device_;
  const std::shared_ptr<NcclBuffers> buffers_ = std::make_shared<NcclBuffers>();
  std::unique_ptr<NcclRanks> ranks_;  // null: not connected
  bool shares_device_ = false;
  int size_ = 0;              // once ranks_ is not null
  bool is_enqueued_ = false;  // the operation that begin() has begun
};

}  // namespace bp
