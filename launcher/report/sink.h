// A descriptor for output that is written to without ever waiting, so that a terminal that is held
// or a pager that is not read cannot keep the launcher from its work.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "launcher/process/event_loop.h"

namespace bp::launcher {

class Sink {
 public:
  // `fd` stays the caller's, and its flags as they are: it may be shared with other programs.
  // `changed` is called after some of what was pending has been written or given up.
  Sink(EventLoop& loop, int fd, std::function<void()> changed);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void write(std::string_view text);
  [[nodiscard]] std::size_t pending() const { return pending_.size() - written_; }
  [[nodiscard]] bool at_line_start() const { return at_line_start_; }
  [[nodiscard]] bool broken() const { return broken_; }  // no process reads; writes are dropped
  // Bytes that could not be written although a reader or a file is there: a full disk, a terminal
  // that has hung up. Later writes are tried all the same.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] int error() const { return error_; }  // the errno of the first loss
  [[nodiscard]] std::string name() const;             // "/data/log" where it is a file, else ""

 private:
  [[nodiscard]] std::size_t write_now(std::string_view text);
  [[nodiscard]] long write_piece(std::string_view text) const;
  [[nodiscard]] std::size_t give_up(std::string_view text, int error);
  void write_pending();

  EventLoop& loop_;
  int fd_;
  std::function<void()> changed_;
  std::string pending_;
  std::size_t written_ = 0;  // bytes of pending_ that are out
  std::uint64_t lost_ = 0;
  int error_ = 0;
  bool torn_ = false;  // the last line that was written lacks its end
  bool watched_ = false;
  bool regular_file_ = false;
  bool socket_ = false;
  bool at_line_start_ = true;
  bool broken_ = false;
};

}  // namespace bp::launcher
