// How ranks get a connection between each two of them: each listens, publishes where in the store,
// connects to those below it and accepts those above it. No connection leaves here before both of
// its ends have proved the job's key (handshake.h).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/fd.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "comm/peers/endpoint.h"

namespace bp {

struct PeerGroup {
  int rank = 0;   // of this process
  int first = 0;  // ranks first .. first + count - 1 connect
  int count = 1;
  JobKey key{};
  std::chrono::milliseconds timeout{30'000};
  std::string keys;     // the rank that listens publishes its address under this and its number
  std::string purpose;  // for errors: "connect", "share memory"
  std::string with;     // the preposition that follows it: "to", "with"
  std::string hint;     // for errors where a rank cannot be reached, in brackets
};

// Blocks until this rank has a connection to each of the others. Returns them by rank - first, with
// none for this rank itself; they are nonblocking. Connections that `own` refused are logged in one
// line.
//
// Throws timeout, naming the ranks that did not come; io where a rank cannot be reached, does not
// know the key, or no descriptor is left; aborted at once where the job fails; and what the store
// throws. Nothing stays open then. `store` is used during the call only, its failure listener
// included.
[[nodiscard]] std::vector<Fd> connect_peers(const PeerGroup& group, Listening own, Store& store);

}  // namespace bp
