// Through a StoreRendezvous the ranks that a launcher started learn the address and the key of the
// job's store. Rank 0 serves the store and publishes both through a channel that the launcher
// provides or the user has chosen.
//
//   rank 0     serve a store with known().key, publish() its endpoint, ..., withdraw()
//   others     look_up() the endpoint, connect
#pragma once

#include <memory>
#include <string>

#include "base/deadline.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "comm/store/connect_store.h"
#include "comm/topology/launcher.h"

namespace bp {

struct StoreEndpoint {
  StoreAddress store;
  JobKey key{};
};

// To the text "10.0.0.1:4711/2f3a...", which has no blanks, and back. parse_endpoint() throws
// invalid_argument, with a text that does not contain the key.
[[nodiscard]] std::string to_text(const StoreEndpoint& endpoint);
[[nodiscard]] StoreEndpoint parse_endpoint(const std::string& text);

class StoreRendezvous {
 public:
  struct Known {
    JobKey key{};
    int port = 0;  // 0: any free port
  };

  virtual ~StoreRendezvous() = default;

  // Returns the key and port with which rank 0 must serve the store: a new key and any free port,
  // unless all ranks know others from the start.
  [[nodiscard]] virtual Known known() const;
  // Publishes the endpoint. Rank 0 calls it. Throws io or timeout.
  virtual void publish(const StoreEndpoint& endpoint, const Deadline& deadline) = 0;
  // Blocks until rank 0 has published the endpoint and returns it. The other ranks call it. Throws
  // timeout, naming what it waited for, and io.
  [[nodiscard]] virtual StoreEndpoint look_up(const Deadline& deadline) = 0;
  // Returns how error texts call this rank and what named the store.
  [[nodiscard]] virtual StoreCaller caller(int rank) const;
  // Returns whether look_up() may return the endpoint of an earlier attempt, whose rank 0 is dead.
  [[nodiscard]] virtual bool may_be_stale() const { return false; }
  // Removes the published endpoint, so that no process finds it any more. Rank 0 calls it once all
  // ranks have looked it up.
  virtual void withdraw() {}
};

// Chooses the channel by the variables. Throws `unavailable`, with a list of the possible channels,
// if there is none.
[[nodiscard]] std::unique_ptr<StoreRendezvous> choose_rendezvous(const LaunchedRank& rank,
                                                                 const Variables& variables);

// Finds the job's store by what rank 0 has published.
struct FoundStore {
  StoreEndpoint endpoint;
  std::unique_ptr<Store> store;
};

// Looks the endpoint up and connects as an observer, which may disconnect without a failure of the
// job. Where a dead rank 0 may have left the endpoint, it tries each one for a short time and then
// looks again. Throws what look_up() and connect_store() throw.
[[nodiscard]] FoundStore find_store(StoreRendezvous& rendezvous,
                                    const LaunchedRank& rank,
                                    const Deadline& deadline);

}  // namespace bp
