// Finds the job's store by what rank 0 has published.
#pragma once

#include <memory>
#include <string>

#include "base/deadline.h"
#include "bp/store.h"
#include "comm/rendezvous/store_rendezvous.h"

namespace bp {

struct FoundStore {
  StoreEndpoint endpoint;
  std::unique_ptr<Store> store;
};

// Looks the endpoint up and connects as an observer, which may disconnect without a failure of the
// job. Where a dead rank 0 may have left the endpoint, it tries each one for a short time and then
// looks again. Throws what look_up() and connect_store() throw.
[[nodiscard]] FoundStore find_store(StoreRendezvous& rendezvous,
                                    const std::string& job,
                                    const Deadline& deadline);

}  // namespace bp
