// Waits until the peers have what this rank has sent. Gloo's send is complete as soon as the kernel
// has its bytes, which on a slow link is long before the peer has them.
//
// Threads: one at a time. Gloo's thread may use the same connections meanwhile.
#pragma once

#include <gloo/transport/context.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "comm/transport/gloo_plugin/function_table.h"

namespace bp::gloo_plugin {

class Delivery {
 public:
  using Clock = std::chrono::steady_clock;

  // `context` is of make_transport(), and must outlive this object. It gets no further connection,
  // and no send may begin any more.
  Delivery(gloo::transport::Context& context, int rank);
  ~Delivery();
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Ends each connection for sending. Returns true once each peer's kernel has acknowledged all
  // bytes, or the peer has closed the connection because it needs no more of them. Returns false at
  // the deadline, or when `stop` is set; wait() may be called again.
  [[nodiscard]] bool wait(Clock::time_point deadline, const std::atomic<bool>& stop);
  // The lowest peer that does not have all of its bytes. Call it only after wait() returned false.
  [[nodiscard]] Undelivered left() const;

 private:
  struct Link {
    int peer = 0;
    int fd = -1;  // another descriptor of the connection, so that Gloo may close its own
    bool has_ended = false;
  };
  [[nodiscard]] bool is_delivered(Link& link);
  // Waits for the end of a connection, at most for `most`, and removes the links that have ended.
  void wait_for_ends(Clock::duration most);

  gloo::transport::Context& context_;
  std::vector<Link> links_;
};

}  // namespace bp::gloo_plugin
