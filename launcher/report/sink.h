// Writes to a descriptor without ever blocking, so that a paused terminal or an idle pager cannot
// block the launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "launcher/process/event_loop.h"

namespace bp::launcher {

class Sink {
 public:
  // The caller owns `fd`, whose flags stay as they are because other programs may share it. Calls
  // `changed` after pending bytes were written or given up.
  Sink(EventLoop& loop, int fd, std::function<void()> changed);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void write(std::string_view text);
  [[nodiscard]] std::size_t pending() const { return pending_.size() - written_; }
  [[nodiscard]] bool at_line_start() const { return at_line_start_; }
  // No process reads any more; writes are dropped.
  [[nodiscard]] bool broken() const { return broken_; }
  // The number of bytes that could not be written although a reader or a file exists, because of a
  // full disk or a terminal that has hung up. Later writes are still tried.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] int error() const { return error_; }  // the errno of the first loss
  // The path, such as "/data/log", if it is a file; else "".
  [[nodiscard]] std::string name() const;

 private:
  [[nodiscard]] std::size_t write_now(std::string_view text);
  [[nodiscard]] long write_piece(std::string_view text) const;
  [[nodiscard]] std::size_t give_up(std::string_view text, int error);
  void write_pending();

  EventLoop& loop_;
  int fd_;
  std::function<void()> changed_;
  std::string pending_;
  std::size_t written_ = 0;  // bytes of pending_ that are written
  std::uint64_t lost_ = 0;
  int error_ = 0;
  bool torn_ = false;  // the last written line lacks its end
  bool watched_ = false;
  bool regular_file_ = false;
  bool socket_ = false;
  bool at_line_start_ = true;
  bool broken_ = false;
};

}  // namespace bp::launcher
