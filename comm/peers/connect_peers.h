// Makes a connection between each two ranks. Each rank listens, publishes its address in the store,
// connects to the lower ranks and accepts the higher ones. Only connections on which both ends have
// proved the job's key (peer_handshake.h) are returned.
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
  int first = 0;  // ranks first .. first + count - 1 connect
  int count = 1;
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};
  std::string keys;     // each rank publishes its address under this prefix and its number
  std::string purpose;  // for errors: "connect", "share memory"
  std::string with;     // for errors: the preposition after `purpose`, "to" or "with"
  std::string hint;     // for errors about a rank that cannot be reached: " (...)"
};

// Blocks until this rank has a connection to each other rank. Returns the connections by rank -
// first, with an empty Fd for this rank; they are nonblocking. Logs the connections that it refused
// in one line.
//
// Throws timeout, naming the ranks that are missing; io if a rank cannot be reached or does not
// know the key, or if no descriptor is left; aborted, at once, if the job fails; and what the store
// throws. No connection stays open then. Uses `store`, and its failure listener, only during the
// call.
[[nodiscard]] std::vector<Fd> connect_peers(const PeerGroup& group, Listening own, Store& store);

}  // namespace bp
