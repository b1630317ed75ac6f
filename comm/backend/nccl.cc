#include "comm/backend/nccl.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <string>
#include <utility>
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

// What NCCL cannot average it sums, and the sum is divided.
bool NcclBackend::divides(const Operation& operation) const {
  return operation.reduce == ReduceOp::average && !NcclRanks::has_exact_average(operation, size_);
}

bool NcclBackend::enqueues_one(const Operation& operation) const {
  if (!NcclRanks::can_carry_out(operation)) return false;
  const bool computes = (operation.prescale != 1 && !NcclRanks::prescales(operation, size_)) ||
                        operation.postscale != 1 || divides(operation);
  const Memory& memory = ranks_->memory();
  return !computes || (memory.computes(operation.whole()) && memory.computes(operation.output));
}

bool NcclBackend::enqueues(const Operation& operation) const {
  if (!ranks_ || operation.device.index != ranks_->device() || operation.contributors != 0) {
    return false;
  }
  if (operation.kind != Operation::Kind::all_reduce_grouped) return enqueues_one(operation);
  Operation one = operation;
  one.kind = Operation::Kind::all_reduce;
  one.group.clear();
  return std::ranges::all_of(operation.group, [&](const View& tensor) {
    one.output = tensor;
    return tensor.count == 0 || enqueues_one(one);
  });
}

bool NcclBackend::prescales(const Operation& operation) const {
  return ranks_ && NcclRanks::can_carry_out(operation) && NcclRanks::prescales(operation, size_);
}

const Memory& NcclBackend::begin(const Operation& operation, CollectiveCall& call) {
  is_enqueued_ = enqueues(operation);
  if (!is_enqueued_) return StagedBackend::begin(operation, call);
  ranks_->begin_after(operation.after.get());
  return ranks_->memory();
}

void NcclBackend::end(CollectiveCall& call) {
  if (!std::exchange(is_enqueued_, false)) return;
  const auto end = ranks_->mark_end();
  call.ends_at(end);
  if (!call.hand_over(ranks_->watched_end())) wait_for_end(call);
}

std::shared_ptr<std::byte> NcclBackend::allocate(std::size_t bytes, const Device& device) {
  auto memory = buffers_->allocate(bytes, device.index);
  return memory ? memory : StagedBackend::allocate(bytes, device);
}

void NcclBackend::abandon() {
  if (ranks_) ranks_->abort();
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
  const bool is_all = !call.does_more_follow();
  const Memory& memory = is_all ? begin(operation, call) : memory_of_part(operation);
  if (!is_enqueued_) ranks_->begin_after(operation.after.get());
  Operation sum = operation;
  if (divides(operation)) sum.reduce = ReduceOp::sum;
  add(sum, call);
  if (!is_enqueued_) {
    static_cast<void>(ranks_->mark_end());
    wait_for_end(call);
  }
  const bool has_result =
      operation.kind != Operation::Kind::reduce || call.rank() == operation.root;
  if (divides(operation) && has_result) memory.finish_average(operation.output, size_);
  if (is_all) end(call);
}

const Memory& NcclBackend::memory_of_part(const Operation& operation) const {
  return is_enqueued_ ? ranks_->memory() : memory_of(operation.device);
}

void NcclBackend::add(const Operation& operation, CollectiveCall& call) {
  try {
    ranks_->begin(operation);
    wait_until_begun(call);
  } catch (...) {
    ranks_->abort();
    throw;
  }
}

void NcclBackend::wait_for_end(CollectiveCall& call) {
  try {
    call.wait_for_device();  // else a deadline would seem to pass within NCCL
    call.wait_for(-1, [this](const Deadline& deadline, const std::atomic<bool>& stop) {
      return ranks_->wait(deadline, stop);
    });
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
  size_ = call.size();
  ranks_ = std::make_unique<NcclRanks>(id, size_, call.rank(), device, buffers_);
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

}  // namespace bp
