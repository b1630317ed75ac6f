// The launcher's stdin, on its way to rank 0: read only as fast as that rank takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "launcher/process/event_loop.h"

namespace bp::launcher {

class InputForwarder {
 public:
  // Reads `fd`, which stays the caller's. `send` gets pieces, and an empty one at the end. A
  // terminal is left alone while the launcher runs in its background.
  InputForwarder(EventLoop& loop, int fd, std::function<void(std::string)> send);
  ~InputForwarder() { stop(); }
  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

  void taken(std::uint32_t bytes);  // rank 0 has got that many
  void stop();

 private:
  void read_some();

  EventLoop& loop_;
  int fd_;
  std::function<void(std::string)> send_;
  std::uint32_t under_way_ = 0;
  bool open_ = true;
};

}  // namespace bp::launcher
