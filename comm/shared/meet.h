// How the ranks of one host come to share memory: each pair over a Unix socket, whose name is in
// the store, and which both prove to know the job's key on before either hands its memory over.
//
//   higher rank                                          lower rank, listening
//     "bp shm 1", its rank, nonce a            ->
//                                              <-        nonce b, HMAC(key, "lower" a b ranks)
//     HMAC(key, "higher" a b ranks) + memory   ->
//                                              <-        memory
//
// The name is in Linux' abstract namespace: no file is left behind, and there is none where ranks
// are in different containers of one machine, which then are different hosts.
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
