// How many rows a pass on the CPU may have so that its memory fits into what is free. Linux kills a
// process that goes beyond, instead of refusing memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <c10/util/ThreadLocalDebugInfo.h>

#include "bp/communicator.h"
#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// What passes need, as a multiple of what their texts' lengths and the model's size suggest.
class PassMemory {
 public:
  explicit PassMemory(const EncoderSpec& model);

  // A forward pass over texts of these lengths has allocated so many bytes.
  void learn(std::span<const std::int32_t> lengths, std::int64_t bytes);
  [[nodiscard]] bool is_new(std::span<const std::int32_t> lengths) const;
  // Returns what forward passes over such texts have allocated; 0: nothing is known.
  [[nodiscard]] double known(std::span<const std::int32_t> lengths) const;
  // Returns the bytes that a forward and a backward pass need, with some to spare.
  [[nodiscard]] double need(std::span<const std::int32_t> lengths) const;
  // Returns how many of these texts fit at once, one at least; 0: all of them.
  [[nodiscard]] std::int64_t most_rows(std::span<const std::int32_t> lengths, double room) const;

 private:
  [[nodiscard]] double suggested(std::span<const std::int32_t> lengths) const;

  double of_token_;
  double of_pair_;      // of tokens of one text
  double ratio_ = 0;    // of the bytes of a pass and what is suggested; 0: nothing is known
  double largest_ = 0;  // of what was suggested for a known pass
};

// Does nothing for a model on a GPU. Threads: one at a time.
class MemoryRoom {
 public:
  // Collective: ranks that share a control group or a machine divide its free memory. `model` must
  // outlive this object.
  MemoryRoom(Communicator& world, const Bert& model);

  // Returns how many rows of the batch to compute at once; 0: all of them.
  [[nodiscard]] std::int64_t most_rows(const Batch& batch);
  // Calls `forward`, a forward pass over the batch, and returns what that does.
  template <class Forward>
  auto watch(const Batch& batch, const Forward& forward) {
    const Allocated allocated(*this, batch);
    return forward();
  }
  // The first step has made the gradients and what the optimizer keeps.
  void after_step();

 private:
  class Counts;
  // Counts what is allocated in its scope.
  class Allocated {
   public:
    Allocated(MemoryRoom& room, const Batch& batch);
    ~Allocated();
    Allocated(const Allocated&) = delete;
    Allocated& operator=(const Allocated&) = delete;

   private:
    MemoryRoom& room_;
    const Batch& batch_;
    std::shared_ptr<Counts> counts_;
    std::unique_ptr<c10::DebugInfoGuard> guard_;
  };
  void look();

  const Bert& model_;
  const bool is_on_;
  PassMemory passes_;
  std::vector<std::string> group_;  // folders
  double sharers_of_group_ = 1;     // ranks
  double sharers_of_machine_ = 1;
  bool is_first_step_ = true;
  double free_ = 0;  // this rank's part, when it last looked
  double held_ = 0;  // by the process, of earlier passes
  std::chrono::steady_clock::time_point looked_ = {};
};

}  // namespace bp::trainer
