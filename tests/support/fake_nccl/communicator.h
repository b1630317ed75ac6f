// One rank of a communicator of the fake NCCL.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/support/fake_nccl/meeting.h"
#include "tests/support/fake_nccl/reduce.h"

namespace fake_nccl {

enum Code { success = 0, system_error = 2, invalid_usage = 5, remote_error = 6, in_progress = 7 };

[[noreturn]] void die(const std::string& why);

// Returns a function of the fake CUDA runtime.
template <class Function>
Function* of_cuda(const char* name) {
  const char* const path = std::getenv("BP_CUDA_RUNTIME");
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) die("the fake CUDA runtime is not loaded");
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

struct Call {
  const char* name = "";
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;  // as the caller gives it
  int type = 0;
  int reduction = 0;
  int root = 0;
  std::optional<Scalar> scalar = {};  // of a scaled sum, which `reduction` then is
};

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(const std::string& name, int ranks, int rank);

  // While it lives, no other thread may be in the communicator.
  class Use {
   public:
    Use(Communicator& used, const char* function);
    ~Use() { used_.is_used_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Communicator& used_;
  };

  [[nodiscard]] Code state();  // success, an error, or still in progress
  [[nodiscard]] Code enqueue(Call call, void* stream);
  // Returns the number of a sum whose elements are multiplied first.
  [[nodiscard]] int create_scaled_sum(const Scalar& scalar);
  void destroy_reduction(int number);
  [[nodiscard]] void* add_buffer(void* memory, std::size_t bytes);
  void remove_buffer(void* handle);
  [[nodiscard]] bool has_buffer(const void* memory) const;  // may be called by any thread
  [[nodiscard]] Code finalize();
  void end();  // waits for nothing
  void abort();

 private:
  enum class Phase { starting, ready, finalizing, ended };
  struct Kernel;
  static void run(void* const* ranges, void* argument);
  void carry_out(const Call& call, bool is_endless, void* const* ranges);
  void forget_buffers();
  [[nodiscard]] bool same_calls(const Call& call);
  void check_devices() const;

  Meeting meeting_;
  Phase phase_ = Phase::starting;
  std::atomic<bool> is_used_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<int> running_{0};  // kernels
  int looks_;                    // that find the call in progress
  int operations_ = 0;
  std::function<void()> begun_;  // a call in progress, which begins after these looks
  int used_ = 0;                 // its reduction
  std::map<int, Scalar> scaled_sums_;
  int next_reduction_ = 5;
  mutable std::mutex buffers_mutex_;  // any rank's thread may look here, when it frees memory
  std::map<std::byte*, std::size_t> buffers_;
  Code error_ = success;
};

}  // namespace fake_nccl
