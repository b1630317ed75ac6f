// The store's connections that have not proved the job's key yet. Those that never do are counted,
// and logged in one line a second after the first; their total is logged at the end, if more came.
//
// Threads: all on the one that runs the context.
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

  // Starts a connection whose socket leads to `from`. Where there are as many as there may be, the
  // oldest is closed first.
  void add(std::shared_ptr<StoreConnection> connection, std::string from);
  // Closes the oldest connection if it has had this long to prove the key.
  void drop_one_older_than(std::chrono::milliseconds age);
  // The connection has proved the key.
  void admit(const StoreConnection& connection);
  // The connection has ended; it counts as refused if it is one of these.
  void remove(const StoreConnection& connection, const std::string& why);
  void close();

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
