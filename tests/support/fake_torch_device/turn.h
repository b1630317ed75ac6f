// Work on the streams of the fake device.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Stream.h>

#include "tests/support/fake_cuda/fake_cuda.h"

namespace fake_torch_device {

// Gets the addresses at which it may touch its ranges.
using Work = std::function<void(void* const* reachable)>;

// Adds work to the stream, which a thread of the stream does later. Returns false if there is no
// such stream, or if a range is not within one allocation.
[[nodiscard]] bool launch(const c10::Stream& stream,
                          const char* name,
                          const std::vector<FakeCudaRange>& ranges,
                          Work work);

// Work that the calling thread does itself, because it has LibTorch's settings (threads, autograd)
// and needs the result. To all streams it is a kernel: it begins after the earlier work of its
// stream, races with work of other streams, and the host learns nothing of its end.
class Turn {
 public:
  // Returns when the stream has come to this work. Throws c10::Error as launch() returns false.
  Turn(const c10::Stream& stream,
       const std::string& name,
       const std::vector<FakeCudaRange>& ranges);
  ~Turn();  // lets the stream continue
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  [[nodiscard]] char* reachable(std::size_t range) const { return reachable_[range]; }

 private:
  struct Meeting;
  std::shared_ptr<Meeting> meeting_;
  std::vector<char*> reachable_;
};

}  // namespace fake_torch_device
