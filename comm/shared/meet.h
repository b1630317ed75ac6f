// How the ranks of one host come to share memory: each pair has a connection over a Unix socket, on
// which both have proved the job's key (../peers/connect.h), and hands its memory over on it.
//
// The sockets' names are in Linux' abstract namespace. No file is left behind, and ranks in
// different containers of one machine do not reach each other; they then are different hosts.
#pragma once

#include <chrono>
#include <memory>

#include "bp/environment.h"
#include "bp/store.h"
#include "comm/shared/host.h"

namespace bp {

struct MeetOptions {
  int rank = 0;   // in the world
  int first = 0;  // of this host's ranks
  int count = 1;  // how many there are
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};
};

// In `store` the keys begin with shm/. Blocks until all are there. Throws timeout and io, naming
// the rank that it was about, and aborted where the job has failed.
[[nodiscard]] std::shared_ptr<SharedHost> meet_on_host(const MeetOptions& options, Store& store);

}  // namespace bp
