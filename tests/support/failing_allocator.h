// LibTorch's memory on the CPU, which runs out where a test wants it to.
#pragma once

#include <cstddef>
#include <cstdint>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace bp::test {

// While it exists, LibTorch allocates by it. Threads: each has counts and limits of its own.
class FailingAllocator : public c10::Allocator {
 public:
  FailingAllocator() : inner_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this); }
  ~FailingAllocator() override { c10::SetCPUAllocator(inner_); }
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;

  // What holds for the calling thread. `fail_at`: the number of the allocation that fails, from 1
  // since then; 0: none. `most`: bytes of one allocation that do not fail; 0: any number.
  struct Plan {
    std::int64_t fail_at = 0;
    std::size_t most = 0;
    std::int64_t allocations = 0;  // so far
    std::int64_t failures = 0;
  };
  static Plan& plan() {
    thread_local Plan plan;
    return plan;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    Plan& now = plan();
    if (bytes > 0 && (++now.allocations == now.fail_at || (now.most > 0 && bytes > now.most))) {
      ++now.failures;
      TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ",
                  bytes, " bytes. Error code 12 (Cannot allocate memory)");
    }
    return inner_->allocate(bytes);
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return inner_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    inner_->copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* inner_;
};

}  // namespace bp::test
