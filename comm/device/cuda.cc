#include "comm/device/cuda.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/current_cuda_device.h"
#include "comm/device/open_cuda_kernels.h"

namespace bp {
namespace {

using Code = CudaRuntime::Code;

class CudaEvent final : public DeviceEvent {
 public:
  CudaEvent(const CudaRuntime& runtime, int device, CudaRuntime::Event event)
      : runtime_(runtime), device_(device), event_(event) {}
  ~CudaEvent() override { static_cast<void>(runtime_.destroy_event(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  [[nodiscard]] bool reached() const override {
    const Code code = runtime_.query_event(event_);
    if (code == CudaRuntime::kSuccess || code == CudaRuntime::kNotReady) {
      return code == CudaRuntime::kSuccess;
    }
    throw DeviceFailure(concat("work on the device failed: ", runtime_.error(code)));
  }
  void delay(void* stream) const override {
    const CurrentCudaDevice current(runtime_, device_);
    const Code code = runtime_.wait_event(stream, event_, 0);
    if (code == CudaRuntime::kSuccess) return;
    throw DeviceFailure(
        concat("cudaStreamWaitEvent on cuda:", device_, " failed: ", runtime_.error(code)));
  }

 private:
  const CudaRuntime& runtime_;
  int device_;
  CudaRuntime::Event event_;
};

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int index) : runtime_(cuda_runtime()), index_(index) {
    const CurrentCudaDevice current(runtime_, index_);
    require(runtime_.create_stream(&stream_, CudaRuntime::kStreamApart), "cudaStreamCreate");
  }
  // Adds to the work of `stream`, and does not wait for it.
  CudaMemory(int index, CudaRuntime::Stream stream)
      : runtime_(cuda_runtime()), index_(index), stream_(stream), waits_(false) {}

  ~CudaMemory() override {
    if (ends_stream_) static_cast<void>(runtime_.destroy_stream(stream_));
  }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) const override {
    return owned("cudaMalloc", runtime_.free,
                 [&](void** memory) { return runtime_.allocate(memory, at_least_one(bytes)); });
  }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_on_host(std::size_t bytes) const override {
    return owned("cudaHostAlloc", runtime_.free_on_host, [&](void** memory) {
      return runtime_.allocate_on_host(memory, at_least_one(bytes), 0);
    });
  }

  void fill(std::byte* at, std::byte value, std::size_t bytes) const override {
    if (bytes == 0) return;
    const CurrentCudaDevice current(runtime_, index_);
    require(runtime_.fill(at, std::to_integer<int>(value), bytes, stream_), "cudaMemsetAsync");
    end_call();
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    if (bytes == 0 || to == from) return;
    const CurrentCudaDevice current(runtime_, index_);
    require(runtime_.copy(to, from, bytes, CudaRuntime::kAnyDirection, stream_), "cudaMemcpyAsync");
    end_call();
  }
  void write(std::byte* to, const std::byte* host, std::size_t bytes) const override {
    copy(to, host, bytes);
  }
  void read(std::byte* host, const std::byte* from, std::size_t bytes) const override {
    copy(host, from, bytes);
  }

  void pack(const View& packed, std::span<const View> pieces) const override {
    move(packed, pieces, "pack", &CudaKernels::pack,
         [](const View& piece, std::byte* at) { return Move{.to = at, .from = piece.data}; });
  }
  void unpack(const View& packed, std::span<const View> pieces) const override {
    move(packed, pieces, "unpack", &CudaKernels::unpack,
         [](const View& piece, std::byte* at) { return Move{.to = piece.data, .from = at}; });
  }

  void scale(const View& data, double factor) const override {
    const auto kernel = [&](const CudaKernels& all) { return all.scale(data, factor, stream_); };
    if (runs("scale", kernel)) return;
    change(data, [&](const View& piece) { host_memory().scale(piece, factor); });
  }
  void finish_average(const View& data, int ranks) const override {
    if (ranks == 1) return;
    const auto kernel = [&](const CudaKernels& all) { return all.divide(data, ranks, stream_); };
    if (runs("divide", kernel)) return;
    change(data, [&](const View& piece) { host_memory().finish_average(piece, ranks); });
  }
  void convert(const View& to, const ConstView& from) const override {
    const auto kernel = [&](const CudaKernels& all) { return all.convert(to, from, stream_); };
    if (runs("convert", kernel)) return;
    refuse_on_stream("convert");
    std::vector<std::byte> given(from.bytes());
    std::vector<std::byte> converted(to.bytes());
    read(given.data(), from.data, from.bytes());
    host_memory().convert({converted.data(), to.count, to.type},
                          {given.data(), from.count, from.type});
    write(to.data, converted.data(), to.bytes());
  }
  [[nodiscard]] bool is_finite(const ConstView& data) const override {
    const auto kernel = [&](const CudaKernels& all) {
      return all.find_infinite(data, reinterpret_cast<int*>(flag_.get()), stream_);
    };
    if (const std::lock_guard lock(flag_mutex_); kernels_ != nullptr) {
      int found = 0;
      if (!flag_) flag_ = allocate(sizeof found);
      fill(flag_.get(), std::byte{0}, sizeof found);
      if (runs("find_infinite", kernel)) {
        read(reinterpret_cast<std::byte*>(&found), flag_.get(), sizeof found);
        finish();
        return found == 0;
      }
    }
    std::vector<std::byte> host(data.bytes());
    read(host.data(), data.data, data.bytes());
    finish();
    return host_memory().is_finite({host.data(), data.count, data.type});
  }

  [[nodiscard]] std::shared_ptr<const DeviceEvent> record(void* stream) const override {
    const CurrentCudaDevice current(runtime_, index_);
    CudaRuntime::Event event = nullptr;
    require(runtime_.create_event(&event, CudaRuntime::kEventUntimed), "cudaEventCreate");
    auto recorded = std::make_shared<CudaEvent>(runtime_, index_, event);
    require(runtime_.record_event(event, stream), "cudaEventRecord");
    return recorded;
  }
  // The kernels require an address that is a multiple of an element's size.
  [[nodiscard]] bool computes(const ConstView& data) const override {
    const std::size_t lane = data.type == DataType::c64 ? sizeof(float) : size_of(data.type);
    return kernels_ != nullptr && reinterpret_cast<std::uintptr_t>(data.data) % lane == 0;
  }
  [[nodiscard]] std::unique_ptr<const Memory> on_stream(void* stream) const override {
    return std::make_unique<CudaMemory>(index_, stream);
  }
  [[nodiscard]] std::unique_ptr<const Memory> on_own_stream() const override {
    auto memory = std::make_unique<CudaMemory>(index_);
    memory->waits_ = false;
    memory->ends_stream_ = true;
    return memory;
  }
  [[nodiscard]] std::shared_ptr<const DeviceEvent> end() const override { return record(stream_); }
  void wait_for(const DeviceEvent& event) const override { event.delay(stream_); }

 private:
  static std::size_t at_least_one(std::size_t bytes) { return std::max(bytes, std::size_t{1}); }

  template <class Allocate>
  [[nodiscard]] std::shared_ptr<std::byte> owned(const char* call,
                                                 Code (*release)(void*),
                                                 const Allocate& allocate) const {
    const CurrentCudaDevice current(runtime_, index_);
    void* memory = nullptr;
    const Code code = allocate(&memory);
    if (code == CudaRuntime::kOutOfMemory) throw std::bad_alloc();
    require(code, call);
    return {static_cast<std::byte*>(memory), [this, release](std::byte* freed) {
              const CurrentCudaDevice current_again(runtime_, index_);
              static_cast<void>(release(freed));
            }};
  }

  void require(Code code, const char* call) const {
    if (code == CudaRuntime::kSuccess) return;
    throw DeviceFailure(concat(call, " on cuda:", index_, " failed: ", runtime_.error(code)));
  }
  // A call that must block cannot be added to a stream.
  void refuse_on_stream(const char* what) const {
    if (waits_) return;
    throw DeviceFailure(
        concat(what, " on cuda:", index_, " has no kernel (", find_cuda_kernels_problem(), ")"));
  }
  // Changes the elements in the host's memory.
  void change(const View& data, const std::function<void(const View& on_host)>& body) const {
    refuse_on_stream("the host's arithmetic");
    std::vector<std::byte> host(data.bytes());
    read(host.data(), data.data, data.bytes());
    body({host.data(), data.count, data.type});
    write(data.data, host.data(), data.bytes());
  }
  // Runs a kernel to its end. Returns false if there is none for this.
  template <class Kernel>
  [[nodiscard]] bool runs(const char* name, const Kernel& kernel) const {
    if (kernels_ == nullptr) return false;
    const CurrentCudaDevice current(runtime_, index_);
    const Code code = kernel(*kernels_);
    if (code == CudaKernels::kUnsupported) return false;
    require(code, name);
    end_call();
    return true;
  }

  struct Move {
    std::byte* to;
    const std::byte* from;
  };
  // Moves by kernels, or by a copy for each piece; `copy_of` says from where to where.
  template <class Kernel, class CopyOf>
  void move(const View& packed,
            std::span<const View> pieces,
            const char* name,
            Kernel kernel,
            const CopyOf& copy_of) const {
    const CurrentCudaDevice current(runtime_, index_);
    View rest = packed;
    while (!pieces.empty()) {
      const auto some = pieces.first(std::min(pieces.size(), CudaKernels::kMostPieces));
      pieces = pieces.subspan(some.size());
      std::vector<CudaPiece> list;
      for (const View& piece : some) list.push_back({piece.data, piece.count});
      const bool moved = runs(name, [&](const CudaKernels& all) {
        return (all.*kernel)(rest, list.data(), list.size(), stream_);
      });
      for (const View& piece : some) {
        const Move copied = copy_of(piece, rest.data);
        if (!moved && piece.bytes() > 0) {
          require(runtime_.copy(copied.to, copied.from, piece.bytes(), CudaRuntime::kAnyDirection,
                                stream_),
                  "cudaMemcpyAsync");
        }
        rest.data += piece.bytes();
        rest.count -= piece.count;
      }
    }
    end_call();
  }
  void end_call() const {
    if (waits_) finish();
  }
  void finish() const { require(runtime_.finish_stream(stream_), "cudaStreamSynchronize"); }

  const CudaRuntime& runtime_;
  const CudaKernels* kernels_ = cuda_kernels();  // null: computes on the host
  int index_;
  mutable std::mutex flag_mutex_;
  mutable std::shared_ptr<std::byte> flag_;  // of is_finite(), on the device; null: not needed yet
  CudaRuntime::Stream stream_ = nullptr;     // that of memory_of() lives as long as the process
  bool waits_ = true;                        // for the end of each call
  bool ends_stream_ = false;
};

}  // namespace

int count_cuda_devices() {
  if (const std::string problem = find_cuda_problem(); !problem.empty()) {
    throw Error(ErrorCode::unavailable, problem);
  }
  int count = 0;
  static_cast<void>(cuda_runtime().device_count(&count));
  return count;
}

const Memory& cuda_memory(int index) {
  static std::mutex mutex;
  static std::map<int, std::unique_ptr<CudaMemory>>& memories =
      *new std::map<int, std::unique_ptr<CudaMemory>>;  // never freed: the library may end first
  const std::lock_guard lock(mutex);
  if (const auto found = memories.find(index); found != memories.end()) return *found->second;
  const int count = count_cuda_devices();
  if (index < 0 || index >= count) {
    throw Error(ErrorCode::unavailable,
                concat("there is no cuda:", index, ": this process sees ", count,
                       count == 1 ? " CUDA device" : " CUDA devices"));
  }
  return *memories.emplace(index, std::make_unique<CudaMemory>(index)).first->second;
}

}  // namespace bp
