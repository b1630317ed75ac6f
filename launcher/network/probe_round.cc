#include "launcher/network/probe_round.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/keys/hmac.h"
#include "base/system/fd.h"
#include "base/system/socket_address.h"
#include "base/text.h"
#include "launcher/network/probe_listener.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kAtATime = 128;  // the number of sockets open at once
// Once each peer is reached by some address, the remaining addresses get as much time again, at
// least this.
constexpr std::chrono::milliseconds kRest{300};

}  // namespace

struct ProbeRound::Attempt {
  std::size_t peer = 0;
  int host = 0;
  int port = 0;
  std::string address;
  std::string* problem = nullptr;  // where to store why it failed
  Fd socket = {};
  std::string question = {};
  std::optional<ProbeExchange> exchange = {};
  std::size_t progress = 0;  // at the last limit
  bool ended = false;
};

ProbeRound::ProbeRound(EventLoop& loop,
                       const JobKey& key,
                       const std::vector<ProbePeer>& peers,
                       std::chrono::milliseconds limit,
                       std::function<void(const ProbeProblems&)> done)
    : loop_(loop), key_(key), limit_(limit), done_(std::move(done)), problems_(peers.size()) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    problems_[i].resize(peers[i].addresses.size());
    for (std::size_t k = 0; k < peers[i].addresses.size(); ++k) {
      attempts_.push_back(std::make_unique<Attempt>(Attempt{.peer = i,
                                                            .host = peers[i].host,
                                                            .port = peers[i].port,
                                                            .address = peers[i].addresses[k],
                                                            .problem = &problems_[i][k]}));
    }
  }
  // The timer starts the attempts, so that `done` is never called before the constructor has
  // returned.
  timer_ = loop_.after(std::chrono::milliseconds{0}, [this] {
    timer_ = loop_.after(limit_, [this] { give_up(); });
    start_some();
    if (attempts_.empty()) {
      loop_.cancel(timer_);
      done_(problems_);
    }
  });
}

ProbeRound::~ProbeRound() {
  loop_.cancel(timer_);
  for (const auto& attempt : attempts_) {
    if (attempt->socket) {
      loop_.forget(attempt->socket.get());
    }
  }
}

std::chrono::milliseconds ProbeRound::elapsed() const {
  return std::chrono::ceil<std::chrono::milliseconds>(EventLoop::Clock::now() - began_);
}

void ProbeRound::give_up() {
  started_ = attempts_.size();
  limit_shortened_ = true;
  std::vector<Attempt*> over;
  for (const auto& attempt : attempts_) {
    if (!attempt->ended && !proceeds(*attempt)) over.push_back(attempt.get());
  }
  timer_ = loop_.after(limit_, [this] { give_up(); });
  for (Attempt* attempt : over) {
    end(*attempt, problem_of(*attempt));
  }
}

bool ProbeRound::proceeds(Attempt& attempt) const {
  if (!attempt.exchange || !attempt.exchange->has_got_head()) return false;
  if (elapsed() > (kMostLimits - 1) * limit_) return false;
  const std::size_t before = std::exchange(attempt.progress, attempt.exchange->progress());
  return attempt.progress != before;
}

std::string ProbeRound::problem_of(const Attempt& attempt) const {
  if (!attempt.exchange || !attempt.exchange->has_got_head()) {
    return concat("no answer within ", elapsed_text(elapsed()));
  }
  return concat("small packets arrive, but large packets ",
                attempt.exchange->got() < kProbeAll ? "from" : "to", " there are lost");
}

void ProbeRound::start_some() {
  while (started_ < attempts_.size() && started_ - ended_ < kAtATime) {
    connect(*attempts_[started_++]);
  }
}

void ProbeRound::connect(Attempt& attempt) {
  const SocketAddress to = numeric_address(attempt.address, std::to_string(attempt.port));
  if (!to) return end(attempt, "that is not an address");
  attempt.socket = start_connecting(to);
  if (!attempt.socket) return end(attempt, error_text(errno));
  loop_.watch(attempt.socket.get(), POLLOUT,
              [this, &attempt](short events) { proceed(attempt, events); });
}

void ProbeRound::proceed(Attempt& attempt, short events) {
  if (attempt.question.empty()) {
    ask(attempt);
  } else {
    exchange(attempt, events);
  }
}

void ProbeRound::ask(Attempt& attempt) {
  const int fd = attempt.socket.get();
  if (const int error = connecting_error(fd); error != 0) return end(attempt, error_text(error));
  attempt.question = view_of(random_bytes());
  attempt.exchange.emplace(fd);
  attempt.exchange->begin(attempt.question);
  exchange(attempt, POLLOUT);
}

void ProbeRound::exchange(Attempt& attempt, short events) {
  ProbeExchange& exchange = *attempt.exchange;
  if ((events & ~POLLOUT) != 0) {
    const long got = exchange.receive_some();
    if (got < 0 && errno != EAGAIN && errno != EINTR) return end(attempt, error_text(errno));
    if (got == 0) return end(attempt, "another program listens there");
  }
  const std::string right = probe_answer(key_, attempt.host, attempt.question);
  if (exchange.has_got_head() && !equal_secrets(exchange.got_head(), right)) {
    return end(attempt, "another host answers there");
  }
  if (exchange.got() > kProbeAll) return end(attempt, "");
  if (!exchange.send_some(kProbeAll)) return end(attempt, error_text(errno));
  loop_.set_events(attempt.socket.get(),
                   static_cast<short>(exchange.sent() < kProbeAll ? POLLIN | POLLOUT : POLLIN));
}

void ProbeRound::end(Attempt& attempt, const std::string& problem) {
  if (attempt.ended) {
    return;
  }
  attempt.ended = true;
  *attempt.problem = problem;
  if (attempt.socket) {
    loop_.forget(attempt.socket.get());
    attempt.socket.reset();
  }
  if (++ended_ == attempts_.size()) {
    loop_.cancel(timer_);
    done_(problems_);
    return;
  }
  start_some();
  if (problem.empty()) {
    reached_.insert(attempt.peer);
  }
  if (reached_.size() == problems_.size() && started_ == attempts_.size()) {
    shorten_limit();
  }
}

// Shortens the limit: each peer is reached by some address, and all attempts have started.
void ProbeRound::shorten_limit() {
  if (ended_ < attempts_.size() && !std::exchange(limit_shortened_, true)) {
    loop_.cancel(timer_);
    const auto left = std::max(limit_ - elapsed(), std::chrono::milliseconds{0});
    timer_ = loop_.after(std::min(std::max(kRest, elapsed()), left), [this] { give_up(); });
  }
}

}  // namespace bp::launcher
