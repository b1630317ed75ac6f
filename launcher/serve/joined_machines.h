// The machines of a job that have come by themselves (--join).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bp/environment.h"
#include "launcher/agent/channel.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

struct JoinedMachine {
  std::unique_ptr<Channel> channel;  // null: this machine, whose agent is still to be started
  Hello hello;
};

struct JoinedMachines {
  std::unique_ptr<EventLoop> loop = std::make_unique<EventLoop>();  // of the channels, and the job
  std::vector<JoinedMachine>
      arrivals;               // one for each host of the plan; empty: nobody comes by himself
  std::optional<JobKey> key;  // that they all know; unset: the job gets a random one
};

}  // namespace bp::launcher
