// The answering end of a probe: proves to a peer that this is the host that the peer means, and
// exchanges large packets with it. It closes a connection that does not ask within kHandshake, or
// does not complete the exchange within kMostExchange, and the oldest connection when there are too
// many.
#pragma once

#include <list>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/refusals.h"
#include "bp/environment.h"
#include "launcher/network/probe_exchange.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

// Returns the answer of host `host` of the job to 32 random bytes. Two hosts may have the same
// address, each in a network of its own (docker0), so the answer must prove which host it is.
[[nodiscard]] std::string probe_answer(const JobKey& key, int host, std::string_view question);

class ProbeListener {
 public:
  ProbeListener(EventLoop& loop, int host, const JobKey& key);
  ~ProbeListener();
  ProbeListener(const ProbeListener&) = delete;
  ProbeListener& operator=(const ProbeListener&) = delete;

  [[nodiscard]] int port() const { return port_; }  // a free port; 0 if none is available

 private:
  struct Visitor {
    Fd socket;
    std::string from;
    ProbeExchange exchange;
    EventLoop::TimerId timer = 0;
  };
  using Place = std::list<Visitor>::iterator;
  void accept_some();
  void pause();
  void serve(Place visitor, short events);
  void refuse(Place visitor, const std::string& why);
  void leave(Place visitor);

  EventLoop& loop_;
  const int host_;
  const JobKey key_;
  int port_ = 0;
  Fd socket_;                    // after port_: listen_anywhere() sets both
  std::list<Visitor> visitors_;  // oldest first
  EventLoop::TimerId pause_ = 0;
  Refusals refusals_;
};

}  // namespace bp::launcher
