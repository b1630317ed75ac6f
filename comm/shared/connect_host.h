// Makes the ranks of one host share their memory. Each rank connects to the first one over a Unix
// socket. Both prove on it that they know the job's key (comm/peers/connect_peers.h). The first
// rank then sends the descriptor of the memory, and all ranks find out, by way of the first,
// whether each can read the other memory of all. At the end the connections are closed.
//
// The names of the sockets are in Linux' abstract namespace, so no file is left behind. Ranks in
// different containers of one machine cannot connect in this way; they must be different hosts.
#pragma once

#include <chrono>
#include <memory>

#include "bp/environment.h"
#include "bp/store.h"
#include "comm/shared/shared_host.h"

namespace bp {

// The ranks of this host.
struct HostGroup {
  int rank = 0;   // in the world
  int first = 0;  // the first rank of this host
  int count = 1;  // the number of its ranks
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};
};

// Blocks until all ranks of the group have called it. Its keys in `store` begin with shm/. Throws
// `timeout` and `io`, naming the rank that is missing or that failed, and `aborted` if the job
// fails meanwhile.
[[nodiscard]] std::shared_ptr<SharedHost> connect_host(const HostGroup& group, Store& store);

}  // namespace bp
