// Strangers: connections to every port that the processes below this one open, from the moment that
// each opens. They know no key. TCP and Unix sockets, found by /proc and by who holds them, so that
// nothing else on the machine is touched.
//
// Threads: one of its own; the functions may be called by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace bp::test {

class Strangers {
 public:
  // silent: says nothing. garbage: random bytes. slow: what looks like a handshake, a byte at a
  // time. replay: handshakes of the right shape, and whatever is answered is said again.
  enum class Mode : std::uint8_t { silent, garbage, slow, replay };

  Strangers(Mode mode, int connections_a_port);
  ~Strangers();
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  [[nodiscard]] int ports() const { return ports_; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  struct Target {
    std::string address;  // a sockaddr
    int type = 0;
    int left = 0;  // connections still to be made
  };
  struct Stranger {
    Fd socket;
    std::string says;
    std::size_t said = 0;
  };
  void run();
  void look_for_ports();
  void look_at_table(const char* table, bool v6);
  void look_at_unix_sockets();
  [[nodiscard]] bool is_new(const std::string& inode);
  [[nodiscard]] bool is_below_this_process(const std::string& inode);
  void connect_some(Target& target);
  void talk(Stranger& stranger);
  [[nodiscard]] std::string opening();

  const Mode mode_;
  const int connections_a_port_;
  std::set<std::string> known_;  // inodes of listening sockets
  std::vector<Target> targets_;
  std::vector<Stranger> strangers_;
  std::mt19937 random_{20261123};
  std::atomic<int> ports_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace bp::test
