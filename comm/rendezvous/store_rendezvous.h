// How the ranks that an engine started learn where the job's store is: rank 0 serves it and tells
// the others by a channel that the engine has, or that the user named.
//
//   rank 0     serve a store with known().key, publish its endpoint, ..., withdraw
//   others     look_up the endpoint, connect
#pragma once

#include <memory>
#include <string>

#include "base/deadline.h"
#include "bp/environment.h"
#include "comm/topology/engine.h"

namespace bp {

struct StoreEndpoint {
  StoreAddress store;
  JobKey key{};
};

// "10.0.0.1:4711/2f3a...", without blanks; parse throws invalid_argument, without quoting the key.
[[nodiscard]] std::string to_text(const StoreEndpoint& endpoint);
[[nodiscard]] StoreEndpoint parse_endpoint(const std::string& text);

class StoreRendezvous {
 public:
  struct Known {
    JobKey key{};
    int port = 0;  // 0: any
  };

  virtual ~StoreRendezvous() = default;

  // What rank 0 serves the store with: a fresh key on any port, unless all know better.
  [[nodiscard]] virtual Known known() const;
  // On rank 0. Throws io or timeout.
  virtual void publish(const StoreEndpoint& endpoint, const Deadline& deadline) = 0;
  // On the others. Throws timeout, saying what it waited for.
  [[nodiscard]] virtual StoreEndpoint look_up(const Deadline& deadline) = 0;
  // On rank 0, once all have met: nobody shall find the endpoint any more.
  virtual void withdraw() {}
};

// By what `variables` say is there. Throws `unavailable` where nothing is, with a list of what
// would do.
[[nodiscard]] std::unique_ptr<StoreRendezvous> choose_rendezvous(const EngineRank& rank,
                                                                 const Variables& variables);

}  // namespace bp
