#include "comm/rendezvous/find_store.h"

#include <algorithm>
#include <chrono>

#include "bp/error.h"

namespace bp {

FoundStore find_store(StoreRendezvous& rendezvous,
                      const std::string& job,
                      const Deadline& deadline) {
  using std::chrono::milliseconds;
  // Grows, because a busy host may take longer to answer.
  for (milliseconds patience{200};; patience *= 2) {
    FoundStore found{rendezvous.look_up(deadline), nullptr};
    const bool stale = rendezvous.may_be_stale();
    const milliseconds left = std::chrono::duration_cast<milliseconds>(deadline.left());
    try {
      found.store = connect_store({.address = found.endpoint.store,
                                   .job = job,
                                   .key = found.endpoint.key,
                                   .connect_timeout = stale ? std::min(patience, left) : left});
      return found;
    } catch (const Error&) {
      if (!stale || deadline.passed()) throw;
    }
  }
}

}  // namespace bp
