// Forwards bprun's stdin to rank 0, and reads it only as fast as that rank takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/process/event_loop.h"

namespace bp::launcher {

class InputForwarder {
 public:
  // Reads `fd`, which the caller owns. `send` gets pieces, and an empty one at the end. Does not
  // read a terminal while bprun runs in its background.
  InputForwarder(EventLoop& loop, int fd, std::function<void(std::string)> send);
  ~InputForwarder() { stop(); }
  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

  void taken(std::uint32_t bytes);  // rank 0 has taken them, or never will
  void stop();

 private:
  void read_some();

  EventLoop& loop_;
  int fd_;
  std::function<void(std::string)> send_;
  std::uint32_t in_flight_ = 0;  // bytes sent that were not taken yet
  bool open_ = true;
};

}  // namespace bp::launcher
