// What an agent knows that joins a job by --join instead of being started by bprun.
#pragma once

#include <chrono>
#include <string>

#include "bp/environment.h"
#include "launcher/protocol/messages.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

struct JoinSession {
  Join request;
  JobKey key{};        // proves each end to the other; the job's key derives from it (join_key.h)
  std::string server;  // "h1:7000"
  std::chrono::milliseconds lost_after{kLostAfter};  // until the server sends another
};

// Print on stderr that the job has begun, that the server was lost, and how the job ended. All
// output of the ranks goes to the server.
void say_joined(const JoinSession& session, const JobSpec& job);
void say_lost(const JoinSession& session, const std::string& why);
void say_end(const End& end);

}  // namespace bp::launcher
