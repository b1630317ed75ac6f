// The memory that the steps of this rank took on its GPU. A step that fails leaves it in a file, so
// that a user sees whether memory grew, or which batch needed most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>

#include "bp/communicator.h"
#include "trainer/options/options.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

// Threads: one at a time.
class GpuMemoryHistory {
 public:
  // Steps of which it knows the memory: the last ones.
  static constexpr std::size_t kSteps = 1000;

  // Both must outlive this object. Does nothing if the options choose no GPU.
  GpuMemoryHistory(const Communicator& world, const RunSettings& settings);

  // Calls `work`, which makes the step (from 0). If it throws, this writes the file
  // settings.run/bug/gpu-memory-RANK.json, unless another rank's failure is the cause, and throws
  // the same. A file that cannot be written is a warning.
  template <class Work>
  void watch(std::int64_t step, const Work& work) {
    if (!watches()) return work();
    begin(step);
    try {
      work();
    } catch (const std::exception& error) {
      fail(error);
      throw;
    }
    end();
  }
  // In `work`: the step computes these.
  void computes(const StepBatches& batches);

 private:
  // The memory of one step. All sizes are in bytes.
  struct Use {
    std::int64_t step = 0;  // of the run, from 1
    std::int64_t rows = 0;
    std::int64_t tokens = 0;
    int length = 0;             // of the longest text
    std::int64_t before = 0;    // in tensors when the step began
    std::int64_t highest = 0;   // the most in tensors at one time
    std::int64_t after = 0;     // in tensors when it ended, or failed
    std::int64_t reserved = 0;  // what LibTorch held of the GPU then, used or not
    std::int64_t refusals = 0;  // allocations that the GPU refused before LibTorch freed its cache
  };

  [[nodiscard]] bool watches() const { return settings_.rank_device.gpu >= 0; }
  void begin(std::int64_t step);
  void end();
  void fail(const std::exception& error);
  [[nodiscard]] std::string json(const std::string& error) const;

  const Communicator& world_;
  const RunSettings& settings_;
  std::deque<Use> uses_;
  std::int64_t refusals_ = 0;  // before this step
};

}  // namespace bp::trainer
