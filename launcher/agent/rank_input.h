// Writes the stdin of rank 0 on the agent's side, as fast as the rank reads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

class RankInput {
 public:
  // `taken` gets the number of bytes that the rank has got or never will get. `loop` must outlive
  // this.
  RankInput(EventLoop& loop, Fd pipe, std::function<void(std::uint32_t)> taken);
  ~RankInput() { close(); }
  RankInput(const RankInput&) = delete;
  RankInput& operator=(const RankInput&) = delete;

  void push(std::string_view data);  // empty: the end of stdin, after all earlier data

 private:
  void write_some();
  void close();

  EventLoop& loop_;
  Fd pipe_;
  std::function<void(std::uint32_t)> taken_;
  std::string pending_;
  bool ended_ = false;
};

}  // namespace bp::launcher
