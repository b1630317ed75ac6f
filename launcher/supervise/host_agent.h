// What AgentSet knows of the agent of one host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "launcher/agent/link.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

enum class HostPhase {
  connecting,  // no hello yet
  greeted,     // the agent has said hello
  ready,       // it has its JobSpec and can start its ranks
  done,        // its ranks have ended and their output is here
  lost,        // the connection ended before that, or nothing comes over it
};

struct HostAgent {
  HostPhase phase = HostPhase::connecting;
  std::unique_ptr<AgentLink> link;
  Hello hello;                             // from HostPhase::greeted on
  LinkLoss loss;                           // of a lost host
  std::string sign;                        // the last that it left in the job's store
  EventLoop::Clock::time_point sign_at{};  // when that was seen
  std::uint32_t unacknowledged = 0;        // bytes of output taken but not acknowledged to it
};

}  // namespace bp::launcher
