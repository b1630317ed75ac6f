// The stdin of rank 0, on the agent's side: written as fast as the rank reads.
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
  // `taken` is told how many bytes the rank has got, or never will.
  RankInput(EventLoop& loop, Fd pipe, std::function<void(std::uint32_t)> taken);
  ~RankInput() { close(); }
  RankInput(const RankInput&) = delete;
  RankInput& operator=(const RankInput&) = delete;

  void push(std::string_view data);  // empty: the end, once all before it is written

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
