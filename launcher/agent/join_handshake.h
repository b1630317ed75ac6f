// A connection to bprun --serve until the peer has proved that it knows the key.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/system/fd.h"
#include "bp/environment.h"
#include "comm/store/handshake.h"
#include "launcher/agent/channel.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

class JoinHandshake {
 public:
  struct Listener {
    std::function<void(Channel::Ends)> on_admitted;
    std::function<void(const std::string& why)> on_refused;
  };
  // Calls one of the two once, within `limit`. That call may destroy this. `loop` must outlive it.
  JoinHandshake(EventLoop& loop,
                Fd socket,
                const JobKey& key,
                Listener listener,
                std::chrono::milliseconds limit = kHandshake);
  ~JoinHandshake();
  JoinHandshake(const JoinHandshake&) = delete;
  JoinHandshake& operator=(const JoinHandshake&) = delete;
  [[nodiscard]] bool challenged() const { return challenged_; }  // the peer has sent its hello

 private:
  void read_some();
  void take(std::string_view body);
  void send(const std::string& frame);
  void refuse(const std::string& why);
  void admit();

  EventLoop& loop_;
  Fd socket_;
  ServerHandshake handshake_;
  Listener listener_;
  std::string received_;
  bool challenged_ = false;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace bp::launcher
