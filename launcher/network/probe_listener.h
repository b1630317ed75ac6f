// The answering end of a probe: proves to a peer that this is the host that the peer means, and
// exchanges large packets with it. It closes a connection that does not ask within kHandshake, or
// does not complete the exchange within kMostExchange, and the oldest connection when there are too
// many.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "base/refusals.h"
#include "base/system/fd.h"
#include "base/system/socket_address.h"
#include "bp/environment.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

// What the two ends of a probe send each other: 32 bytes (the question, and the answer to it), then
// as many bytes as fill packets of any size. The answering end adds one more byte once it has got
// all. Networks that lose only large packets exist, and a job hangs on them: an interface or switch
// whose MTU is too small drops them without a word.
inline constexpr std::size_t kProbeBytes = 32;
inline constexpr std::size_t kProbeFilling = std::size_t{64} << 10;
inline constexpr std::size_t kProbeAll = kProbeBytes + kProbeFilling;

// One end of the exchange on a nonblocking connection that its owner closes.
class ProbeExchange {
 public:
  explicit ProbeExchange(int fd);

  // What this end sends first. The rest follows it.
  void begin(std::string_view head) { head_ = head; }
  [[nodiscard]] bool has_begun() const { return !head_.empty(); }
  // Sends what the connection takes of the first `most` bytes. Returns false if it has failed.
  [[nodiscard]] bool send_some(std::size_t most);
  // Returns as read(2).
  [[nodiscard]] long receive_some();

  [[nodiscard]] const std::string& got_head() const { return got_head_; }
  [[nodiscard]] bool has_got_head() const { return got_head_.size() == kProbeBytes; }
  [[nodiscard]] std::size_t got() const { return got_; }  // bytes
  [[nodiscard]] std::size_t sent() const { return sent_; }
  // A number that grows while bytes move in any direction.
  [[nodiscard]] std::size_t progress() const;

 private:
  int fd_;
  std::string head_;
  std::string got_head_;
  std::size_t sent_ = 0;
  std::size_t got_ = 0;
};

// Returns the answer of host `host` of the job to 32 random bytes. Two hosts may have the same
// address, each in a network of its own (docker0), so the answer must prove which host it is.
[[nodiscard]] std::string probe_answer(const JobKey& key, int host, std::string_view question);

class ProbeListener {
 public:
  ProbeListener(EventLoop& loop, int host, const JobKey& key);
  ~ProbeListener();
  ProbeListener(const ProbeListener&) = delete;
  ProbeListener& operator=(const ProbeListener&) = delete;

  // A free port; 0 if none is available.
  [[nodiscard]] int port() const { return own_address(socket_.get()).port(); }

 private:
  struct Visitor {
    Fd socket;
    std::string from;
    ProbeExchange exchange;
    EventLoop::TimerId timer = 0;
  };
  using Place = std::list<Visitor>::iterator;
  void accept_some();
  void pause();
  void serve(Place visitor, short events);
  void refuse(Place visitor, const std::string& why);
  void leave(Place visitor);

  EventLoop& loop_;
  const int host_;
  const JobKey key_;
  Fd socket_;
  std::list<Visitor> visitors_;  // oldest first
  EventLoop::TimerId pause_ = 0;
  Refusals refusals_;
};

}  // namespace bp::launcher
