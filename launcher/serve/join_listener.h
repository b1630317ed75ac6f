// Where machines connect to bprun --serve: accepts connections and has each of them prove that it
// knows the key.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/refusals.h"
#include "bp/environment.h"
#include "launcher/agent/channel.h"
#include "launcher/agent/join_handshake.h"
#include "launcher/cli/options.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

class JoinListener {
 public:
  // Gets each connection that has proved that it knows the key, with the peer's numeric address.
  using OnAdmitted = std::function<void(Channel::Ends ends, const std::string& address)>;

  // Listens from here on, at the port of --serve. `loop` must outlive it. Throws invalid_argument
  // if that port is taken or --interface names no interface.
  JoinListener(EventLoop& loop, const Options& options, const JobKey& key, OnAdmitted on_admitted);
  ~JoinListener();
  JoinListener(const JoinListener&) = delete;
  JoinListener& operator=(const JoinListener&) = delete;

  [[nodiscard]] int port() const;
  // How many connections were refused. Only the first of them has been printed.
  [[nodiscard]] const Refusals& refusals() const { return refusals_; }

 private:
  struct Connection {
    std::string address;
    std::unique_ptr<JoinHandshake> handshake;
  };
  void accept_some();
  [[nodiscard]] std::list<Connection>::iterator least_promising();
  void pause_accepting();
  void refuse(std::list<Connection>::iterator connection, const std::string& why);

  EventLoop& loop_;
  const JobKey key_;
  OnAdmitted on_admitted_;
  Fd socket_;
  std::list<Connection> unauthenticated_;  // oldest first
  Refusals refusals_;
  EventLoop::TimerId pause_ = 0;
};

}  // namespace bp::launcher
