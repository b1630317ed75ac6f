// An agent that has come by itself (--join) instead of being started by bprun.
#pragma once

#include <chrono>
#include <string>

#include "bp/environment.h"
#include "launcher/protocol/messages.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

struct JoinSession {
  Join request;
  JobKey key{};        // by which both ends know each other; the job's is made of it (join_key.h)
  std::string server;  // "h1:7000"
  std::chrono::milliseconds lost_after{kLostAfter};  // until the server names another
};

// What its user sees of the job, on stderr: all output goes to the server.
void say_joined(const JoinSession& own, const JobSpec& job);
void say_lost(const JoinSession& own, const std::string& why);
void say_end(const End& end);

}  // namespace bp::launcher
