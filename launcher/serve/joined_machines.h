// The machines of a job that have joined it (--join).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bp/environment.h"
#include "launcher/agent/channel.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

struct JoinedMachine {
  std::unique_ptr<Channel> channel;  // null: this machine, whose agent bprun starts itself
  Hello hello;
};

struct JoinedMachines {
  std::unique_ptr<EventLoop> loop = std::make_unique<EventLoop>();  // of the channels and the job
  std::vector<JoinedMachine> machines;  // one for each host of the plan; empty: none has joined
  std::optional<JobKey> key;  // the secret that all know; unset: the job gets a random key
};

}  // namespace bp::launcher
