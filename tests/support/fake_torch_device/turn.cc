#include "tests/support/fake_torch_device/turn.h"

#include <dlfcn.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include <c10/util/Exception.h>

#include "comm/device/cuda_runtime.h"
#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

FakeCudaLaunch* find_launch() {
  const std::string& path = bp::cuda_runtime().path;
  void* const library = ::dlopen(path.c_str(), RTLD_NOW);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, kFakeCudaLaunch);
  TORCH_CHECK(found != nullptr, "the fake device needs the fake CUDA runtime, but bp opened ", path,
              "; set BP_CUDA_RUNTIME");
  return reinterpret_cast<FakeCudaLaunch*>(found);
}

void do_work(void* const* reachable, void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  (*work)(reachable);
}

// A second turn on the stream would wait for the first, for ever.
thread_local bool has_turn = false;

}  // namespace

bool launch(const c10::Stream& stream,
            const char* name,
            const std::vector<FakeCudaRange>& ranges,
            Work work) {
  static FakeCudaLaunch* const kLaunch = find_launch();
  auto owned = std::make_unique<Work>(std::move(work));
  const CurrentDevice current(stream.device());
  const int code =
      kLaunch(handle_of(stream), name, ranges.data(), ranges.size(), do_work, owned.get());
  if (code != bp::CudaRuntime::kSuccess) return false;
  static_cast<void>(owned.release());  // do_work() owns it
  return true;
}

struct Turn::Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reached = false;
  bool is_done = false;
  std::vector<char*> reachable;
};

Turn::Turn(const c10::Stream& stream,
           const std::string& name,
           const std::vector<FakeCudaRange>& ranges)
    : meeting_(std::make_shared<Meeting>()) {
  TORCH_CHECK(!has_turn, name, " is called within work of the fake device");
  const auto wait_for_host = [meeting = meeting_, count = ranges.size()](void* const* reachable) {
    std::unique_lock lock(meeting->mutex);
    for (std::size_t i = 0; i < count; ++i) {
      meeting->reachable.push_back(static_cast<char*>(reachable[i]));
    }
    meeting->is_reached = true;
    meeting->changed.notify_all();
    meeting->changed.wait(lock, [&] { return meeting->is_done; });
  };
  TORCH_CHECK(launch(stream, name.c_str(), ranges, wait_for_host), name,
              ": there is no such stream, or memory of a tensor is not within one allocation");
  std::unique_lock lock(meeting_->mutex);
  meeting_->changed.wait(lock, [this] { return meeting_->is_reached; });
  reachable_ = meeting_->reachable;
  has_turn = true;
}

Turn::~Turn() {
  has_turn = false;
  const std::lock_guard lock(meeting_->mutex);
  meeting_->is_done = true;
  meeting_->changed.notify_all();
}

}  // namespace fake_torch_device
