// What the tests of NCCL share: ranks that are threads, each with a device of its own, and the
// variables of the fakes.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "bp/collective.h"
#include "tests/ranks/device_copy.h"
#include "tests/support/cuda_kernels_on_host/use.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/fake_nccl/use.h"
#include "tests/support/run_ranks.h"

namespace bp::test {

inline const int kHasDevices = ::setenv("FAKE_CUDA_DEVICES", "4", 0);

// Sets a variable of the fakes until the end of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name_, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// Floats in the memory of the rank's device.
class Floats {
 public:
  explicit Floats(const std::vector<float>& values) : host_(values), there_(const_view(host_)) {}
  [[nodiscard]] View view() const { return there_.view(); }
  [[nodiscard]] std::vector<float> values() {
    there_.back(bp::view(host_));
    return host_;
  }

 private:
  std::vector<float> host_;
  OnDevice there_;
};

inline RanksOptions with_nccl(Wire wire = Wire::shm) {
  return {.wire = wire, .devices = DeviceBackend::nccl};
}

// The device whose number is the rank's.
inline void take_own_device(const Communicator& comm) {
  test_device = {Device::Kind::cuda, comm.rank()};
}

// Returns what carried out the last operation.
inline std::string last_algorithm(const Communicator& comm) {
  return comm.recent().back().algorithm;
}

}  // namespace bp::test
