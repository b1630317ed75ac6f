// Connects the trials' `bprun-sweep --through` processes with the connections to the hosts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/system/fd.h"
#include "launcher/process/event_loop.h"
#include "launcher/sweep/relay/host_connection.h"

namespace bp::launcher::sweep {

class RelayServer {
 public:
  using FindHost = std::function<HostConnection*(const std::string& host)>;

  // Listens on a socket in a new folder below /tmp that only this user can enter. `find` returns
  // the connection to a host, or null if the host is lost. `loop` must outlive this. Throws io.
  RelayServer(EventLoop& loop, FindHost find);
  ~RelayServer();  // removes the folder; destroy it before the connections
  RelayServer(const RelayServer&) = delete;
  RelayServer& operator=(const RelayServer&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string path() const { return folder_ + "/relay"; }

 private:
  struct Client;
  void accept_one();
  void read_from(int fd);
  void finish(int fd, int code);
  void forget(int fd);

  EventLoop& loop_;
  FindHost find_;
  std::string folder_;
  Fd socket_;
  std::map<int, std::unique_ptr<Client>> clients_;
};

// Removes the folder of a sweep that was killed, if `folder` is one.
void remove_relay_folder(const std::string& folder);

}  // namespace bp::launcher::sweep
