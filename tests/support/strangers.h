// Opens connections to every port that the descendants of this process open, as soon as each port
// opens. The connections do not know the job's key. TCP and Unix sockets are found through /proc,
// by the process that holds them, so no other port of the machine is touched.
//
// Threads: it runs a thread of its own; any thread may call the functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/system/fd.h"

namespace bp::test {

class Strangers {
 public:
  // silent: sends nothing. garbage: sends random bytes. slow: sends what looks like a handshake,
  // one byte at a time. replay: sends a well-formed handshake, then sends back every answer.
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
    std::string to_send;
    std::size_t sent = 0;
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
