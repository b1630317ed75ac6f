#include "comm/backend/nccl.h"

#include <atomic>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "comm/backend/nccl_place.h"
#include "comm/device/device.h"

namespace bp {
namespace {

// The same bytes as elements.
template <class T>
View raw_view(std::span<T> objects) {
  return {reinterpret_cast<std::byte*>(objects.data()), objects.size_bytes(), DataType::u8};
}

// NCCL multiplies each element by 1 / ranks before it adds them. That is bp's average only where no
// product is rounded.
bool has_exact_average(const Operation& operation, int ranks) {
  return class_of(operation.output.type) == TypeClass::real &&
         std::has_single_bit(static_cast<unsigned>(ranks));
}

std::vector<NcclPlace> gather_places(const NcclPlace& own, Backend& host, CollectiveCall& call) {
  std::vector<NcclPlace> all(static_cast<std::size_t>(call.size()));
  NcclPlace given = own;
  Operation gather;
  gather.kind = Operation::Kind::all_gather;
  gather.input = raw_view(std::span(&given, 1));
  gather.output = raw_view(std::span(all));
  gather.counts.assign(all.size(), sizeof own);
  host.run(gather, call);
  return all;
}

}  // namespace

std::string_view NcclBackend::algorithm_of(Operation::Kind kind, std::size_t bytes) const {
  using Kind = Operation::Kind;
  const bool by_nccl = kind == Kind::all_reduce || kind == Kind::broadcast ||
                       kind == Kind::reduce || kind == Kind::all_gather ||
                       kind == Kind::reduce_scatter;
  return by_nccl && !shares_device_ ? "nccl" : StagedBackend::algorithm_of(kind, bytes);
}

void NcclBackend::run(const Operation& operation, CollectiveCall& call) {
  if (!NcclRanks::can_carry_out(operation)) return StagedBackend::run(operation, call);
  if (!ranks_ && !shares_device_) connect(operation.device.index, call);
  if (shares_device_) return StagedBackend::run(operation, call);
  if (ranks_->device() != operation.device.index) {
    throw DeviceFailure(
        concat("NCCL uses cuda:", ranks_->device(), " here, and the data lie on ",
               name_of(operation.device),
               "; a rank uses one device in a communicator: split() makes another"));
  }
  host_.run(Operation{}, call);  // a barrier
  call.use("nccl");
  if (operation.reduce != ReduceOp::average || has_exact_average(operation, call.size())) {
    return carry_out(operation, call);
  }
  call.more_follows();
  Operation sum = operation;
  sum.reduce = ReduceOp::sum;
  carry_out(sum, call);
  if (operation.kind == Operation::Kind::reduce && call.rank() != operation.root) return;
  memory_of(operation.device).finish_average(operation.output, call.size());
}

void NcclBackend::carry_out(const Operation& operation, CollectiveCall& call) {
  try {
    ranks_->begin(operation);
    wait_until_begun(call);
    call.ends_at(ranks_->end());
    call.wait_for_device();  // else a deadline would seem to pass within NCCL
    wait(call);
  } catch (...) {
    ranks_->abort();
    throw;
  }
}

void NcclBackend::connect(int device, CollectiveCall& call) {
  const std::vector<NcclPlace> places = gather_places(nccl_place(device), host_, call);
  if (const std::string shared = find_shared_device(places); !shared.empty()) {
    shares_device_ = on_shared_device_ == OnSharedDevice::stage;
    if (shares_device_) return;
    call.disagree(concat(shared,
                         "; NCCL needs one for each rank: give each its own, as cuda:LOCAL_RANK, "
                         "or use the backend auto, which then goes through host memory"));
  }
  if (const std::string other = find_other_version(places); !other.empty()) {
    call.disagree(concat(other, "; install the same one on all hosts"));
  }
  const NcclApi::UniqueId id = share_id(call);
  ranks_ = std::make_unique<NcclRanks>(id, call.size(), call.rank(), device);
  try {
    wait_until_begun(call);
  } catch (...) {
    ranks_->abort();
    throw;
  }
}

NcclApi::UniqueId NcclBackend::share_id(CollectiveCall& call) {
  NcclApi::UniqueId id{};
  if (call.rank() == 0) {
    const NcclApi::Code code = nccl_api().unique_id(&id);
    if (code != NcclApi::kSuccess) {
      throw DeviceFailure(concat("ncclGetUniqueId failed: ", nccl_api().text_of_error(code)));
    }
  }
  Operation share;
  share.kind = Operation::Kind::broadcast;
  share.output = raw_view(std::span(&id, 1));
  host_.run(share, call);
  return id;
}

void NcclBackend::wait_until_begun(CollectiveCall& call) {
  call.expect(0);  // what came on the host is no part of the operation
  call.wait_for(-1, [this](const Deadline& deadline, const std::atomic<bool>& stop) {
    return ranks_->wait_until_begun(deadline, stop);
  });
}

void NcclBackend::wait(CollectiveCall& call) {
  call.wait_for(-1, [this](const Deadline& deadline, const std::atomic<bool>& stop) {
    return ranks_->wait(deadline, stop);
  });
}

}  // namespace bp
