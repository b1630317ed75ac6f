#include "launcher/process/event_loop.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

void EventLoop::watch(int fd, short events, Handler handler) {
  BP_CHECK(!watches_.contains(fd), "a descriptor is watched twice");
  watches_[fd] = {
      .events = events, .id = next_id_++, .handler = std::make_shared<Handler>(std::move(handler))};
  changed_ = true;
}

void EventLoop::set_events(int fd, short events) {
  const auto found = watches_.find(fd);
  BP_CHECK(found != watches_.end(), "events of a descriptor that is not watched");
  changed_ |= found->second.events != events;
  found->second.events = events;
}

void EventLoop::forget(int fd) { changed_ |= watches_.erase(fd) != 0; }

EventLoop::TimerId EventLoop::after(Clock::duration delay, std::function<void()> handler) {
  const TimerId id = next_id_++;
  timers_.emplace(Clock::now() + delay, Timer{id, std::move(handler)});
  return id;
}

void EventLoop::cancel(TimerId id) {
  std::erase_if(timers_, [id](const auto& entry) { return entry.second.id == id; });
}

void EventLoop::run_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto due = timers_.extract(timers_.begin());
    due.mapped().handler();
  }
}

void EventLoop::rebuild() {
  polled_.clear();
  polled_ids_.clear();
  for (const auto& [fd, watch] : watches_) {
    if (watch.events != 0) {
      polled_.push_back({fd, watch.events, 0});
      polled_ids_.push_back(watch.id);
    }
  }
  changed_ = false;
}

void EventLoop::run_once(std::chrono::milliseconds limit) {
  if (changed_) {
    rebuild();
  }
  auto wait = limit;
  if (!timers_.empty()) {
    const auto left = timers_.begin()->first - Clock::now();
    wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds{0}, limit);
  }
  const int ready = ::poll(polled_.data(), polled_.size(), static_cast<int>(wait.count()));
  if (ready < 0 && errno != EINTR) {
    throw Error(ErrorCode::io, concat("poll failed: ", error_text(errno)));
  }
  // A handler may change watches_ but never polled_, which is rebuilt before the next wait.
  for (std::size_t i = 0; ready > 0 && i < polled_.size(); ++i) {
    const pollfd& entry = polled_[i];
    if (entry.revents == 0) {
      continue;
    }
    const auto found = watches_.find(entry.fd);
    if (found != watches_.end() && found->second.id == polled_ids_[i] &&
        found->second.events != 0) {
      // keeps the handler alive if it forgets its own descriptor
      const auto handler = found->second.handler;
      (*handler)(entry.revents);
    }
  }
  run_timers();
}

}  // namespace bp::launcher
