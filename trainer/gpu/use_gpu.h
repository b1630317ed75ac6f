// Chooses the device of a run, and prepares LibTorch for it.
#pragma once

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "trainer/data/say.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Before the rendezvous: opens LibTorch's CUDA unless options.device is the CPU or there is no GPU,
// so that the communicator finds NCCL, which LibTorch brings. Throws Error (unavailable), with the
// reason, if options.device asks for a GPU in vain.
void open_gpus(const Options& options);

// Collective, after the rendezvous: sets options.gpu. With --device auto all ranks use the CPU
// unless all can have a GPU, because ranks of two kinds of device would not compute the same
// weights; `say` gets the reason if there are GPUs. Throws Error (unavailable) on all ranks if a
// rank has no GPU where all must have one.
void choose_device(Communicator& world, Options& options, const Say& say);

// Returns the device of options.gpu.
[[nodiscard]] c10::Device device_of(const Options& options);

}  // namespace bp::trainer
