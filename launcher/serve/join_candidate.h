// A machine that has proved that it knows the key of --serve, until the job begins.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "launcher/agent/channel.h"
#include "launcher/gpus/gpu.h"
#include "launcher/hosts/slot_offers.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

struct JoinCandidate {
  std::unique_ptr<Channel> channel;
  Hello hello;
  std::string address;                // the peer's, numeric
  std::optional<SlotOffer> offer;     // once it has joined
  std::string gpu_request;            // as --gpus says it; empty: it gets no GPUs
  std::optional<GpuList> gpus;        // of its machine, once it has answered which it has
  std::optional<Deadline> leaves_by;  // it was refused; the server closes the connection then
  bool gone = false;                  // the connection is closed

  // Whether it has joined and the answer about its GPUs is missing.
  [[nodiscard]] bool awaits_gpus() const { return offer && !gpu_request.empty() && !gpus; }
};

}  // namespace bp::launcher
