// One end of a probe: answers whoever asks whether this is the host that they mean. A connection
// that does not ask within kHandshake is closed, and the oldest is where too many have not asked
// yet.
#pragma once

#include <list>
#include <string>

#include "base/fd.h"
#include "base/refusals.h"
#include "bp/environment.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

inline constexpr std::size_t kProbeBytes = 32;

// What host `host` of the job answers to 32 random bytes. Two hosts may have one address each in a
// network of their own (docker0), so whoever answers must prove which host it is.
[[nodiscard]] std::string probe_answer(const JobKey& key, int host, std::string_view question);

class ProbeListener {
 public:
  ProbeListener(EventLoop& loop, int host, const JobKey& key);
  ~ProbeListener();
  ProbeListener(const ProbeListener&) = delete;
  ProbeListener& operator=(const ProbeListener&) = delete;

  [[nodiscard]] int port() const { return port_; }  // any free one; 0 where there is none

 private:
  struct Visitor {
    Fd socket;
    std::string from;
    std::string question;
    EventLoop::TimerId timer = 0;
  };
  using Place = std::list<Visitor>::iterator;
  void accept_some();
  void pause();
  void read_some(Place visitor);
  void refuse(Place visitor, const std::string& why);
  void leave(Place visitor);

  EventLoop& loop_;
  const int host_;
  const JobKey key_;
  int port_ = 0;
  Fd socket_;                    // listen_anywhere() tells the port as well
  std::list<Visitor> visitors_;  // oldest first
  EventLoop::TimerId pause_ = 0;
  Refusals refusals_;
};

}  // namespace bp::launcher
