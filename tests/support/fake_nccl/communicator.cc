#include "tests/support/fake_nccl/communicator.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/visible.h"
#include "tests/support/fake_nccl/reduce.h"

namespace fake_nccl {
namespace {

int looks_in_progress() {
  const char* const text = std::getenv("FAKE_NCCL_IN_PROGRESS");
  return text == nullptr ? 0 : std::atoi(text);
}

// Returns whether the variable, "RANK:N", means this operation.
bool is_planned(const char* variable, int rank, int operation) {
  const char* const text = std::getenv(variable);
  return text != nullptr && text == std::to_string(rank) + ":" + std::to_string(operation);
}

}  // namespace

void die(const std::string& why) {
  std::fprintf(stderr, "fake NCCL: %s\n", why.c_str());
  std::abort();
}

Communicator::Communicator(const std::string& name, int ranks, int rank)
    : meeting_(name, ranks, rank), looks_(looks_in_progress()) {
  int device = -1;
  of_cuda<int(int*)>("cudaGetDevice")(&device);
  meeting_.arrive(fake_cuda::visible_devices().at(static_cast<std::size_t>(device)));
}

Communicator::Use::Use(Communicator& used, const char* function) : used_(used) {
  if (used_.is_used_.exchange(true)) die(std::string("two threads, one of them in ") + function);
  if (used_.phase_ == Phase::ended) die(std::string(function) + " after the communicator's end");
}

Code Communicator::state() {
  if (looks_ > 0) {
    --looks_;
    return in_progress;
  }
  if (begun_) std::exchange(begun_, {})();
  if (phase_ == Phase::starting) {
    if (!meeting_.all_arrived()) return in_progress;
    check_devices();
    phase_ = Phase::ready;
  }
  if (phase_ == Phase::finalizing && !meeting_.all_left()) return in_progress;
  return error_;
}

void Communicator::check_devices() const {
  for (int a = 0; a < meeting_.ranks(); ++a) {
    for (int b = 0; b < a; ++b) {
      if (meeting_.device_of(a) == meeting_.device_of(b)) die("two ranks use one device");
    }
  }
}

struct Communicator::Kernel {
  std::shared_ptr<Communicator> communicator;
  Call call;
  bool is_endless = false;
};

int Communicator::create_scaled_sum(const Scalar& scalar) {
  if (phase_ != Phase::ready || begun_) die("ncclRedOpCreatePreMulSum before the call before it");
  scaled_sums_[next_reduction_] = scalar;
  return next_reduction_++;
}

void Communicator::destroy_reduction(int number) {
  if (begun_ && used_ == number) die("ncclRedOpDestroy before the operation that uses it began");
  if (scaled_sums_.erase(number) == 0) die("ncclRedOpDestroy of no reduction");
}

void* Communicator::add_buffer(void* memory, std::size_t bytes) {
  if (phase_ != Phase::ready || begun_) die("ncclCommRegister before the call before it");
  const std::lock_guard lock(buffers_mutex_);
  if (!buffers_.emplace(static_cast<std::byte*>(memory), bytes).second) {
    die("ncclCommRegister of memory that is registered");
  }
  return memory;
}

void Communicator::remove_buffer(void* handle) {
  if (running_ > 0) die("ncclCommDeregister during an operation");
  const std::lock_guard lock(buffers_mutex_);
  if (buffers_.erase(static_cast<std::byte*>(handle)) == 0) die("ncclCommDeregister of no buffer");
}

bool Communicator::has_buffer(const void* memory) const {
  const std::lock_guard lock(buffers_mutex_);
  return std::ranges::any_of(buffers_, [&](const auto& buffer) {
    return memory >= buffer.first && memory < buffer.first + buffer.second;
  });
}

void Communicator::forget_buffers() {
  const std::lock_guard lock(buffers_mutex_);
  buffers_.clear();
}

Code Communicator::enqueue(Call call, void* stream) {
  if (phase_ != Phase::ready || begun_) die(std::string(call.name) + " before the one before it");
  if (call.reduction > average) {
    const auto found = scaled_sums_.find(call.reduction);
    if (found == scaled_sums_.end()) die(std::string(call.name) + " by no reduction");
    if (found->second.type != call.type)
      die(std::string(call.name) + " by a scalar of another type");
    call.scalar = found->second;
  }
  used_ = call.reduction;
  const int number = ++operations_;
  const int rank = meeting_.rank();
  const bool fails = is_planned("FAKE_NCCL_REMOTE_ERROR", rank, number);
  const std::string_view name = call.name;
  const auto ranks = static_cast<std::size_t>(meeting_.ranks());
  const std::size_t bytes = call.count * size_of(call.type);
  const bool writes = name != "ncclReduce" || rank == call.root;
  const std::size_t read = bytes * (name == "ncclReduceScatter" ? ranks : 1);
  const std::size_t written = writes ? bytes * (name == "ncclAllGather" ? ranks : 1) : 0;
  begun_ = [=, self = shared_from_this()] {
    if (fails) self->error_ = remote_error;
    auto* const kernel =
        new Kernel{self, call, fails || is_planned("FAKE_NCCL_ENDLESS", rank, number)};
    const FakeCudaRange ranges[] = {{call.from, read, false}, {call.to, written, true}};
    ++self->running_;
    const int code = of_cuda<FakeCudaLaunch>(kFakeCudaLaunch)(stream, call.name, ranges, 2,
                                                              &Communicator::run, kernel);
    if (code != 0) die(std::string(call.name) + " on memory or a stream that does not exist");
  };
  looks_ = looks_in_progress();
  if (looks_ > 0) return in_progress;
  std::exchange(begun_, {})();
  return success;
}

void Communicator::run(void* const* ranges, void* argument) {
  const std::unique_ptr<Kernel> kernel(static_cast<Kernel*>(argument));
  kernel->communicator->carry_out(kernel->call, kernel->is_endless, ranges);
  --kernel->communicator->running_;
}

bool Communicator::same_calls(const Call& call) {
  char own[128];
  const int reduction = call.scalar ? average + 1 : call.reduction;  // the scalars may differ
  std::snprintf(own, sizeof own, "%s of %zu, type %d, reduction %d, root %d", call.name, call.count,
                call.type, reduction, call.root);
  return meeting_.exchange([&](std::byte* mine) { std::memcpy(mine, own, sizeof own); },
                           [&] {
                             for (int rank = 0; rank < meeting_.ranks(); ++rank) {
                               const auto* const other =
                                   reinterpret_cast<const char*>(meeting_.chunk(rank));
                               if (std::strcmp(own, other) != 0)
                                 die(std::string(own) + " meets " + other);
                             }
                           },
                           aborted_);
}

void Communicator::carry_out(const Call& call, bool is_endless, void* const* ranges) {
  while (is_endless && !aborted_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (aborted_ || !same_calls(call)) return;
  const auto* const from = static_cast<const std::byte*>(ranges[0]);
  auto* const to = static_cast<std::byte*>(ranges[1]);
  const std::string_view name = call.name;
  const int ranks = meeting_.ranks();
  const int rank = meeting_.rank();
  const std::size_t size = size_of(call.type);
  const int parts = name == "ncclReduceScatter" ? ranks : 1;  // each as long as the count
  for (int part = 0; part < parts; ++part) {
    for (std::size_t at = 0; at < call.count; at += kChunk / size) {
      const std::size_t count = std::min(call.count - at, kChunk / size);
      const std::byte* const source =
          from + (static_cast<std::size_t>(part) * call.count + at) * size;
      std::byte* const target = to + at * size;
      const auto read = [&] {
        if (name == "ncclBroadcast") {
          std::memcpy(target, meeting_.chunk(call.root), count * size);
        } else if (name == "ncclAllGather") {
          for (int r = 0; r < ranks; ++r) {
            const std::size_t block = static_cast<std::size_t>(r) * call.count * size;
            std::memcpy(target + block, meeting_.chunk(r), count * size);
          }
        } else if (name == "ncclAllReduce" || rank == (parts > 1 ? part : call.root)) {
          std::vector<const std::byte*> all;
          for (int r = 0; r < ranks; ++r) all.push_back(meeting_.chunk(r));
          combine(call.type, call.scalar ? sum : call.reduction, ranks, all.data(), target, count);
        }
      };
      const auto write = [&](std::byte* mine) {
        std::memcpy(mine, source, count * size);
        if (call.scalar) multiply(*call.scalar, mine, count);
      };
      if (!meeting_.exchange(write, read, aborted_)) return;
    }
  }
}

Code Communicator::finalize() {
  if (phase_ != Phase::ready) die("ncclCommFinalize before the communicator's start");
  if (running_ > 0) die("ncclCommFinalize during an operation");
  if (!scaled_sums_.empty()) die("ncclCommFinalize before ncclRedOpDestroy");
  {
    const std::lock_guard lock(buffers_mutex_);
    if (!buffers_.empty()) die("ncclCommFinalize before ncclCommDeregister");
  }
  phase_ = Phase::finalizing;
  meeting_.leave();
  return in_progress;
}

void Communicator::end() {
  phase_ = Phase::ended;
  forget_buffers();
}

void Communicator::abort() {
  end();
  aborted_ = true;
  begun_ = {};
  while (running_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace fake_nccl
