// A CUDA runtime without a GPU, which bp opens in place of the real one (BP_CUDA_RUNTIME). It does
// what the real one promises and no more: streams run at their own pace, device memory cannot be
// touched by the host, and work that nothing orders is a race, which ends the process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/memory.h"
#include "tests/support/fake_cuda/stream.h"
#include "tests/support/fake_cuda/visible.h"

namespace fake_cuda {
namespace {

using Code = int;
constexpr Code kSuccess = 0;
constexpr Code kInvalidValue = 1;
constexpr Code kOutOfMemory = 2;
constexpr Code kNoDevice = 100;
constexpr Code kInvalidDevice = 101;
constexpr Code kInvalidHandle = 400;
constexpr Code kNotReady = 600;

struct Event {
  std::mutex mutex;
  std::shared_ptr<Recorded> last;  // null: nothing was recorded
};

unsigned number_from(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

struct Failure {
  std::string name;
  unsigned call = 0;
  Code code = kSuccess;
  unsigned times = std::numeric_limits<unsigned>::max();
};

Failure failure_from(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return {};
  const std::string all(text);
  const std::size_t first = all.find(':');
  const std::size_t second = all.find(':', first + 1);
  Failure failure{all.substr(0, first), static_cast<unsigned>(std::stoul(all.substr(first + 1))),
                  std::stoi(all.substr(second + 1))};
  const std::size_t third = all.find(':', second + 1);
  if (third != std::string::npos) {
    failure.times = static_cast<unsigned>(std::stoul(all.substr(third + 1)));
  }
  return failure;
}

// Lives as long as the process: threads of streams may run until its end.
struct State {
  const std::vector<int> devices = visible_devices();
  const Delays delays{number_from("FAKE_CUDA_SEED", 1),
                      std::chrono::microseconds(number_from("FAKE_CUDA_DELAY_US", 100))};
  const Failure failure = failure_from("FAKE_CUDA_FAIL");
  std::atomic<unsigned> calls{0};  // of the function that fails
  Memory memory;
  std::mutex mutex;
  std::map<void*, std::unique_ptr<Stream>> streams;
  std::map<int, std::unique_ptr<Stream>> default_streams;  // of the devices that were used
  std::size_t next_stream = 0;
  std::vector<FakeCudaCopy> copies;
};

State& state() {
  static State& only = *new State;
  return only;
}

thread_local int current_device = 0;

int count_devices() { return static_cast<int>(state().devices.size()); }

// Returns the code with which the call of this function must fail, or success.
Code planned(const char* name) {
  State& all = state();
  if (all.failure.name != name) return kSuccess;
  const unsigned call = ++all.calls;
  const bool fails = call >= all.failure.call && call - all.failure.call < all.failure.times;
  return fails ? all.failure.code : kSuccess;
}

// Null for a handle that does not exist. A null handle is the default stream of the current device.
Stream* stream_of(void* handle) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  if (handle == nullptr) {
    std::unique_ptr<Stream>& own = all.default_streams[current_device];
    if (own == nullptr) own = std::make_unique<Stream>(all.next_stream++, all.delays);
    return own.get();
  }
  const auto found = all.streams.find(handle);
  return found == all.streams.end() ? nullptr : found->second.get();
}

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

Access access_of(const void* memory, std::size_t bytes, bool writes, std::string what) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return {begin, begin + bytes, writes, 0, 0, std::move(what)};
}

void check(Access access, const Stream& stream, const Clock& clock) {
  access.stream = stream.number();
  access.time = clock.of(stream.number());
  state().memory.check(access, clock);
}

Code create_stream(void** handle) {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  auto stream = std::make_unique<Stream>(all.next_stream++, all.delays);
  *handle = stream.get();
  all.streams[*handle] = std::move(stream);
  return kSuccess;
}

Code copy(void* to, const void* from, std::size_t bytes, void* handle) {
  State& all = state();
  Stream* const stream = stream_of(handle);
  if (stream == nullptr) return kInvalidHandle;
  void* const target = all.memory.reachable(to, bytes);
  const void* const source = all.memory.reachable(from, bytes);
  if (target == nullptr || source == nullptr) return kInvalidValue;
  const std::chrono::milliseconds takes(number_from("FAKE_CUDA_COPY_MS", 0));
  const bool to_host = !all.memory.is_on_device(to);
  const bool is_between = to_host == all.memory.is_on_device(from);
  stream->add([=, &all](Clock& clock) {
    const std::int64_t begin = now();
    check(access_of(from, bytes, false, "a copy that reads"), *stream, clock);
    check(access_of(to, bytes, true, "a copy that writes"), *stream, clock);
    std::this_thread::sleep_for(takes);
    std::memmove(target, source, bytes);
    if (!is_between) return;
    const std::lock_guard lock(all.mutex);
    all.copies.push_back({to_host, bytes, begin, now()});
  });
  if (!all.memory.is_asynchronous(to) || !all.memory.is_asynchronous(from)) stream->finish();
  return kSuccess;
}

Code fill(void* at, int value, std::size_t bytes, void* handle) {
  Stream* const stream = stream_of(handle);
  if (stream == nullptr) return kInvalidHandle;
  void* const target = state().memory.reachable(at, bytes);
  if (target == nullptr) return kInvalidValue;
  stream->add([=](Clock& clock) {
    check(access_of(at, bytes, true, "a fill"), *stream, clock);
    std::memset(target, value, bytes);
  });
  return kSuccess;
}

Code launch(Stream& stream,
            const char* name,
            const std::vector<FakeCudaRange>& ranges,
            FakeCudaKernel* work,
            void* argument) {
  std::vector<void*> reachable;
  for (const FakeCudaRange& range : ranges) {
    reachable.push_back(state().memory.reachable(range.memory, range.bytes));
    if (range.bytes > 0 && reachable.back() == nullptr) return kInvalidValue;
  }
  stream.add([=, &stream, text = std::string(name)](const Clock& clock) {
    for (const FakeCudaRange& range : ranges) {
      const char* const does = range.writes ? " that writes" : " that reads";
      check(access_of(range.memory, range.bytes, range.writes, text + does), stream, clock);
    }
    work(reachable.data(), argument);
  });
  return kSuccess;
}

Code record(Event& event, void* handle) {
  Stream* const stream = stream_of(handle);
  if (stream == nullptr) return kInvalidHandle;
  auto recorded = std::make_shared<Recorded>();
  {
    const std::lock_guard lock(event.mutex);
    event.last = recorded;
  }
  stream->add([recorded](const Clock& clock) {
    const std::lock_guard lock(recorded->mutex);
    recorded->clock = clock;
    recorded->is_done = true;
    recorded->changed.notify_all();
  });
  return kSuccess;
}

std::shared_ptr<Recorded> last_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.last;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT: this file is the library

#define FAKE(name, ...)                                                    \
  extern "C" __attribute__((visibility("default"))) int name(__VA_ARGS__); \
  extern "C" int name(__VA_ARGS__)
#define FAIL_IF_PLANNED() \
  if (const Code code = planned(__func__); code != kSuccess) return code

FAKE(cudaDriverGetVersion, int* version) {
  *version = 13000;
  return kSuccess;
}
FAKE(cudaRuntimeGetVersion, int* version) {
  *version = 13000;
  return kSuccess;
}
FAKE(cudaGetDeviceCount, int* count) {
  FAIL_IF_PLANNED();
  *count = count_devices();
  return *count == 0 ? kNoDevice : kSuccess;
}
FAKE(cudaGetDevice, int* device) {
  *device = current_device;
  return kSuccess;
}
FAKE(cudaSetDevice, int device) {
  if (device < 0 || device >= count_devices()) return kInvalidDevice;
  current_device = device;
  return kSuccess;
}
FAKE(cudaDeviceGetPCIBusId, char* text, int length, int device) {
  FAIL_IF_PLANNED();
  if (device < 0 || device >= count_devices()) return kInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                state().devices[static_cast<std::size_t>(device)] + 1);
  return kSuccess;
}
FAKE(cudaMalloc, void** memory, std::size_t bytes) {
  FAIL_IF_PLANNED();
  *memory = state().memory.allocate(bytes);
  return *memory == nullptr ? kOutOfMemory : kSuccess;
}
FAKE(cudaFree, void* memory) {
  if (memory == nullptr || state().memory.free(memory)) return kSuccess;
  return kInvalidValue;
}
FAKE(cudaHostAlloc, void** memory, std::size_t bytes, unsigned) {
  FAIL_IF_PLANNED();
  *memory = state().memory.allocate_on_host(bytes);
  return *memory == nullptr ? kOutOfMemory : kSuccess;
}
FAKE(cudaFreeHost, void* memory) {
  return state().memory.free_on_host(memory) ? kSuccess : kInvalidValue;
}
FAKE(cudaMemcpyAsync, void* to, const void* from, std::size_t bytes, int, void* stream) {
  FAIL_IF_PLANNED();
  return copy(to, from, bytes, stream);
}
FAKE(cudaMemsetAsync, void* at, int value, std::size_t bytes, void* stream) {
  FAIL_IF_PLANNED();
  return fill(at, value, bytes, stream);
}
FAKE(cudaStreamCreateWithFlags, void** stream, unsigned) {
  FAIL_IF_PLANNED();
  return create_stream(stream);
}
FAKE(cudaStreamDestroy, void* stream) {
  State& all = state();
  std::unique_ptr<Stream> ended;
  const std::lock_guard lock(all.mutex);
  const auto found = all.streams.find(stream);
  if (found == all.streams.end()) return kInvalidHandle;
  ended = std::move(found->second);
  all.streams.erase(found);
  return kSuccess;
}
FAKE(cudaStreamSynchronize, void* stream) {
  FAIL_IF_PLANNED();
  Stream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  found->finish();
  return kSuccess;
}
FAKE(cudaEventCreateWithFlags, void** event, unsigned) {
  FAIL_IF_PLANNED();
  *event = new Event;
  return kSuccess;
}
FAKE(cudaEventDestroy, void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
FAKE(cudaEventRecord, void* event, void* stream) {
  FAIL_IF_PLANNED();
  return record(*static_cast<Event*>(event), stream);
}
FAKE(cudaEventQuery, void* event) {
  FAIL_IF_PLANNED();
  const std::shared_ptr<Recorded> last = last_of(*static_cast<Event*>(event));
  if (last == nullptr) return kSuccess;
  const std::lock_guard lock(last->mutex);
  if (!last->is_done) return kNotReady;
  host_learns(last->clock);
  return kSuccess;
}
FAKE(cudaStreamWaitEvent, void* stream, void* event, unsigned) {
  Stream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  const std::shared_ptr<Recorded> last = last_of(*static_cast<Event*>(event));
  if (last == nullptr) return kSuccess;  // as the real one: nothing to wait for
  found->add([last](Clock& clock) {
    std::unique_lock lock(last->mutex);
    last->changed.wait(lock, [&] { return last->is_done; });
    clock.learn(last->clock);
  });
  return kSuccess;
}

extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorName(int code) {
  switch (code) {
    case kSuccess:
      return "cudaSuccess";
    case kInvalidValue:
      return "cudaErrorInvalidValue";
    case kOutOfMemory:
      return "cudaErrorMemoryAllocation";
    case kNoDevice:
      return "cudaErrorNoDevice";
    case kInvalidDevice:
      return "cudaErrorInvalidDevice";
    case kInvalidHandle:
      return "cudaErrorInvalidResourceHandle";
    case kNotReady:
      return "cudaErrorNotReady";
    default:
      return "cudaErrorUnknown";
  }
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(int code) {
  return code == kNoDevice ? "no CUDA-capable device is detected" : "as the test asked for";
}

extern "C" __attribute__((visibility("default"))) void fake_cuda_pause(void* stream,
                                                                       int milliseconds) {
  stream_of(stream)->add([milliseconds](Clock&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  });
}
extern "C" __attribute__((visibility("default"))) std::size_t fake_cuda_copies(FakeCudaCopy* copies,
                                                                               std::size_t most) {
  const std::lock_guard lock(state().mutex);
  const std::vector<FakeCudaCopy>& all = state().copies;
  const std::size_t count = std::min(most, all.size());
  std::copy(all.end() - static_cast<std::ptrdiff_t>(count), all.end(), copies);
  return count;
}
extern "C" __attribute__((visibility("default"))) std::size_t fake_cuda_pinned() {
  return state().memory.pinned();
}
extern "C" __attribute__((visibility("default"))) int fake_cuda_launch(void* stream,
                                                                       const char* name,
                                                                       const FakeCudaRange* ranges,
                                                                       std::size_t count,
                                                                       FakeCudaKernel* work,
                                                                       void* argument) {
  Stream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  return launch(*found, name, {ranges, ranges + count}, work, argument);
}
