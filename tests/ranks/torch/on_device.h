// The tests of tests/ranks/torch that are compiled after this file train on devices: the models of
// each rank lie on a device of its own, and LibTorch works on a stream of its own there. With the
// default stream, a collective that follows the wrong one would go unseen.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"

namespace bp::test {

// As many as a test has ranks, because backward passes of one device share a thread.
inline const int kHasDeviceForEachRank = ::setenv("FAKE_CUDA_DEVICES", "5", 0);

}  // namespace bp::test

#include "tests/support/fake_torch_device/use.h"

namespace bp::test {

using RankBody = std::function<void(Communicator&)>;

inline RankBody on_device(const RankBody& body) {
  return [body](Communicator& world) {
    const c10::impl::VirtualGuardImpl devices(torch_device().type());
    const c10::Device own = torch_device(world.rank() % devices.deviceCount());
    const c10::StreamGuard guard(devices.getStreamFromGlobalPool(own));
    tensor_device() = own;
    body(world);
  };
}

inline void run_ranks_on_devices(int ranks,
                                 const RankBody& body,
                                 const RanksOptions& options = {}) {
  run_ranks(ranks, on_device(body), options);
}

inline std::vector<std::string> try_ranks_on_devices(int ranks,
                                                     const RankBody& body,
                                                     const RanksOptions& options = {}) {
  return try_ranks(ranks, on_device(body), options);
}

}  // namespace bp::test

#define run_ranks run_ranks_on_devices
#define try_ranks try_ranks_on_devices
