#include "launcher/network/probe_round.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/hmac.h"
#include "base/text.h"
#include "launcher/hosts/address.h"
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
  std::string answer = {};
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
      attempts_.push_back(std::make_unique<Attempt>(
          Attempt{i, peers[i].host, peers[i].port, peers[i].addresses[k], &problems_[i][k]}));
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
  const std::string problem = concat("no answer within ", elapsed_text(elapsed()));
  for (const auto& attempt : attempts_) {
    end(*attempt, problem);
  }
}

void ProbeRound::start_some() {
  while (started_ < attempts_.size() && started_ - ended_ < kAtATime) {
    connect(*attempts_[started_++]);
  }
}

void ProbeRound::connect(Attempt& attempt) {
  sockaddr_storage address{};
  const socklen_t size = socket_address(attempt.address, attempt.port, address);
  if (size == 0) {
    end(attempt, "that is no address");
    return;
  }
  attempt.socket = Fd(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!attempt.socket ||
      (::connect(attempt.socket.get(), generic, size) != 0 && errno != EINPROGRESS)) {
    end(attempt, error_text(errno));
    return;
  }
  loop_.watch(attempt.socket.get(), POLLOUT, [this, &attempt](short) { proceed(attempt); });
}

void ProbeRound::proceed(Attempt& attempt) {
  if (attempt.question.empty()) {
    ask(attempt);
  } else {
    read_answer(attempt);
  }
}

void ProbeRound::ask(Attempt& attempt) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    end(attempt, error_text(error));
    return;
  }
  attempt.question = view_of(random_bytes());
  if (write_all(attempt.socket.get(), attempt.question.data(), kProbeBytes) != kProbeBytes) {
    end(attempt, error_text(errno));
    return;
  }
  loop_.set_events(attempt.socket.get(), POLLIN);
}

void ProbeRound::read_answer(Attempt& attempt) {
  std::array<char, kProbeBytes> buffer{};
  const ssize_t got =
      ::read(attempt.socket.get(), buffer.data(), kProbeBytes - attempt.answer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (got <= 0) {
    end(attempt, got < 0 ? error_text(errno) : "another program listens there");
    return;
  }
  attempt.answer.append(buffer.data(), static_cast<std::size_t>(got));
  if (attempt.answer.size() == kProbeBytes) {
    const std::string right = probe_answer(key_, attempt.host, attempt.question);
    end(attempt, equal_secrets(attempt.answer, right) ? "" : "another host answers there");
  }
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
