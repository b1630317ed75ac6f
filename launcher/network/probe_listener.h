// One end of a probe: answers who asks whether this is the host he means.
#pragma once

#include <string>
#include <unordered_map>

#include "bp/environment.h"
#include "comm/base/fd.h"
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
    std::string question;
  };
  void accept_some();
  void read_some(int fd);
  void leave(int fd);

  EventLoop& loop_;
  const int host_;
  const JobKey key_;
  int port_ = 0;
  Fd socket_;  // listen_anywhere() tells the port as well
  std::unordered_map<int, Visitor> visitors_;
};

}  // namespace bp::launcher
