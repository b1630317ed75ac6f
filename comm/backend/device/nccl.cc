#include "comm/backend/device/nccl.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "comm/backend/device/nccl_ranks.h"
#include "comm/backend/device/staged.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "comm/device/nccl_api.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

template <std::size_t N>
void put(std::array<char, N>& to, const std::string& text) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to.begin());
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Containers of one machine have one boot id, as they have the same devices.
std::string machine_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id.empty() ? own_host_name() : id;
}

// On which device of which machine a rank uses NCCL. All ranks of a communicator see all of these,
// so all come to the same judgement. It travels between ranks as it is.
struct NcclPlace {
  std::array<char, 64> machine = {};  // differs between any two that run
  std::array<char, 64> host = {};     // its name, for texts
  std::array<char, 24> bus_id = {};   // of the device
  int version = 0;                    // of NCCL
};

// Returns the first text that there is for two ranks.
template <class Text>
std::string of_two_ranks(std::span<const NcclPlace> places, const Text& text) {
  for (std::size_t b = 1; b < places.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (std::string found = text(a, b); !found.empty()) return found;
    }
  }
  return "";
}

// Throws DeviceFailure.
NcclPlace nccl_place(int device) {
  const CudaRuntime& cuda = cuda_runtime();
  NcclPlace place;
  const CudaRuntime::Code code =
      cuda.bus_id(place.bus_id.data(), static_cast<int>(place.bus_id.size()), device);
  if (code != CudaRuntime::kSuccess) {
    throw DeviceFailure(
        concat("cudaDeviceGetPCIBusId on cuda:", device, " failed: ", cuda.error(code)));
  }
  put(place.machine, machine_id());
  put(place.host, own_host_name());
  place.version = nccl_api().number;
  return place;
}

// Returns which two ranks use one device, which NCCL does not serve: "ranks 0 and 2 use the same
// CUDA device, 0000:3B:00.0 of node7". Returns "" if each has its own.
std::string find_shared_device(std::span<const NcclPlace> places) {
  return of_two_ranks(places, [&](std::size_t a, std::size_t b) -> std::string {
    const bool same =
        places[a].machine == places[b].machine && places[a].bus_id == places[b].bus_id;
    if (!same) return "";
    return concat("ranks ", a, " and ", b, " use the same CUDA device, ", places[a].bus_id.data(),
                  " of ", places[a].host.data());
  });
}

// Returns which two ranks have different versions of NCCL, which may not understand each other.
std::string find_other_version(std::span<const NcclPlace> places) {
  return of_two_ranks(places, [&](std::size_t a, std::size_t b) -> std::string {
    if (places[a].version == places[b].version) return "";
    return concat("rank ", a, " has NCCL ", nccl_version_text(places[a].version), ", and rank ", b,
                  " NCCL ", nccl_version_text(places[b].version));
  });
}

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
class NcclBackend : public StagedBackend {
 public:
  // `host` and `piece` are those of StagedBackend. `must_be_nccl`: refuses ranks that use one
  // device, else stages their data.
  NcclBackend(Backend& host, bool must_be_nccl, std::size_t piece)
      : StagedBackend(host, piece), host_(host), must_be_nccl_(must_be_nccl) {}

  [[nodiscard]] std::string_view name() const override {
    return shares_device_ ? StagedBackend::name() : "nccl";
  }

  [[nodiscard]] std::string_view algorithm_of(Operation::Kind kind,
                                              std::size_t bytes) const override {
    const bool by_nccl = kind == Kind::all_reduce || kind == Kind::broadcast ||
                         kind == Kind::reduce || kind == Kind::all_gather ||
                         kind == Kind::reduce_scatter;
    return by_nccl && !shares_device_ ? "nccl" : StagedBackend::algorithm_of(kind, bytes);
  }

  // A rank that has host memory cannot take part.
  [[nodiscard]] std::string_view agreed_algorithm(const Operation& operation,
                                                  std::string_view chosen) const override {
    return NcclRanks::can_carry_out(operation) ? "nccl"
                                               : StagedBackend::agreed_algorithm(operation, chosen);
  }

  void run(const Operation& operation, CollectiveCall& call) override {
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

  [[nodiscard]] bool enqueues(const Operation& operation) const override {
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

  [[nodiscard]] bool prescales(const Operation& operation) const override {
    return ranks_ && NcclRanks::can_carry_out(operation) && NcclRanks::prescales(operation, size_);
  }

  [[nodiscard]] const Memory& begin(const Operation& operation, CollectiveCall& call) override {
    is_enqueued_ = enqueues(operation);
    if (!is_enqueued_) return StagedBackend::begin(operation, call);
    ranks_->begin_after(operation.after.get());
    return ranks_->memory();
  }

  void end(CollectiveCall& call) override {
    if (!std::exchange(is_enqueued_, false)) return;
    const auto end = ranks_->mark_end();
    call.ends_at(end);
    if (!call.hand_over(ranks_->watched_end())) wait_for_end(call);
  }

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes,
                                                    const Device& device) override {
    auto memory = buffers_->allocate(bytes, device.index);
    return memory ? memory : StagedBackend::allocate(bytes, device);
  }

  void abandon() override {
    if (ranks_) ranks_->abort();
  }

 private:
  // Returns whether NCCL and the device do all of it. `operation` is not a group.
  [[nodiscard]] bool enqueues_one(const Operation& operation) const {
    if (!NcclRanks::can_carry_out(operation)) return false;
    const bool computes = (operation.prescale != 1 && !NcclRanks::prescales(operation, size_)) ||
                          operation.postscale != 1 || divides(operation);
    const Memory& memory = ranks_->memory();
    return !computes || (memory.computes(operation.whole()) && memory.computes(operation.output));
  }

  // What NCCL cannot average it sums, and the sum is divided.
  [[nodiscard]] bool divides(const Operation& operation) const {
    return operation.reduce == ReduceOp::average && !NcclRanks::has_exact_average(operation, size_);
  }

  // Returns memory whose calls are ordered with the part of the operation that run() carries out.
  [[nodiscard]] const Memory& memory_of_part(const Operation& operation) const {
    return is_enqueued_ ? ranks_->memory() : memory_of(operation.device);
  }

  void add(const Operation& operation, CollectiveCall& call) {
    try {
      ranks_->begin(operation);
      wait_until_begun(call);
    } catch (...) {
      ranks_->abort();
      throw;
    }
  }

  void wait_for_end(CollectiveCall& call) {
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

  void connect(int device, CollectiveCall& call) {
    const std::vector<NcclPlace> places = gather_places(nccl_place(device), host_, call);
    if (const std::string shared = find_shared_device(places); !shared.empty()) {
      shares_device_ = !must_be_nccl_;
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

  [[nodiscard]] NcclApi::UniqueId share_id(CollectiveCall& call) {
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

  void wait_until_begun(CollectiveCall& call) {
    call.expect(0);  // what came on the host is not part of the operation
    call.wait_for(-1, [this](const Deadline& deadline, const std::atomic<bool>& stop) {
      return ranks_->wait_until_begun(deadline, stop);
    });
  }

  Backend& host_;
  const bool must_be_nccl_;
  const std::shared_ptr<NcclBuffers> buffers_ = std::make_shared<NcclBuffers>();
  std::unique_ptr<NcclRanks> ranks_;  // null: not connected
  bool shares_device_ = false;
  int size_ = 0;              // once ranks_ is not null
  bool is_enqueued_ = false;  // the operation that begin() has begun
};

}  // namespace

std::unique_ptr<Backend> make_device_backend(DeviceBackend chosen,
                                             Backend& host,
                                             std::size_t piece) {
  if (chosen == DeviceBackend::staged) return std::make_unique<StagedBackend>(host, piece);
  return std::make_unique<NcclBackend>(host, chosen == DeviceBackend::nccl, piece);
}

}  // namespace bp
