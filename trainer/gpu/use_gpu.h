// Chooses the device of a run, and prepares LibTorch for it.
#pragma once

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Before the rendezvous: opens LibTorch's CUDA unless `choice` is the CPU or there is no GPU,
// so that the communicator finds NCCL, which LibTorch brings. choose_device() reports what is
// missing.
void open_gpus(DeviceChoice choice);

// Collective, after the rendezvous: returns where this rank computes. With --device auto all ranks
// use the CPU unless all can have a GPU, because ranks of two kinds of device would not compute the
// same weights; if there are GPUs, rank 0 then logs why they are not used. With --device cuda it
// throws Error (unavailable), with the reason, on all ranks if one has no GPU.
[[nodiscard]] RankDevice choose_device(Communicator& world, DeviceChoice choice);

[[nodiscard]] c10::Device device_of(const RankDevice& rank_device);

}  // namespace bp::trainer
