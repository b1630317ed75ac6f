// Makes a connection between the first rank of a group and each other one. The first rank listens
// and publishes its address in the store; the others connect to it. Only connections on which both
// ends have proved the job's key (peer_handshake.h) are returned.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "comm/peers/endpoint.h"

namespace bp {

struct PeerGroup {
  int rank = 0;   // this process's
  int first = 0;  // of ranks first .. first + count - 1
  int count = 1;
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};
  std::string keys;     // the first rank publishes its address under this prefix and its number
  std::string purpose;  // for errors: "connect", "share memory"
  std::string with;     // for errors: the preposition after `purpose`, "to" or "with"
  std::string hint;     // for errors about a rank that cannot be reached: " (...)"
};

// Blocks until all connections exist: on the first rank, which passes `own`, those to all others;
// on another rank the one to the first, and `own` has no socket. Returns the connections by rank -
// first, and an empty Fd where there is none; they are nonblocking. The first rank logs the
// connections that it refused in one line.
//
// Throws timeout, naming the ranks that are missing; io if a rank cannot be reached or does not
// know the key, or if no descriptor is left; aborted, at once, if the job fails; and what the store
// throws. No connection stays open then. Uses `store`, and its failure listener, only during the
// call.
[[nodiscard]] std::vector<Fd> connect_peers(const PeerGroup& group, Listening own, Store& store);

}  // namespace bp
