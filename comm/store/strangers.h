// The store's connections that have not proved the job's key yet. Those that end without doing so
// count as refused. One second after the first of them this class logs one line with their number;
// if more came later, it logs the total at the end.
//
// Threads: only the thread that runs the context.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "base/refusals.h"
#include "comm/store/connection.h"

namespace bp {

class StoreStrangers {
 public:
  explicit StoreStrangers(asio::io_context& io) : timer_(io) {}

  // Starts a connection to the peer at the address `from`. If there are 256 already, closes the
  // oldest first.
  void add(std::shared_ptr<StoreConnection> connection, std::string from);
  // Closes the oldest connection if it was added at least `age` ago.
  void drop_one_older_than(std::chrono::milliseconds age);
  // Removes a connection that has proved the key.
  void admit(const StoreConnection& connection);
  // Removes a connection that has ended, and counts it as refused, if it is one of these.
  void remove(const StoreConnection& connection, const std::string& why);
  void close();

  // Returns whether the peer of a socket that was just accepted has closed its end and sent nothing
  // for a second. It had waited while this process was stopped, and has proved nothing because no
  // one asked.
  [[nodiscard]] static bool has_given_up(int socket);

 private:
  struct Stranger {
    std::shared_ptr<StoreConnection> connection;
    std::string from;
    std::chrono::steady_clock::time_point since;
  };
  void drop_oldest();
  void count(const Stranger& stranger, const std::string& why);

  asio::steady_timer timer_;
  std::list<Stranger> strangers_;  // oldest first
  Refusals refusals_;
};

}  // namespace bp
