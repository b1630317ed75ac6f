#include "comm/engine/observe/job.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/text.h"
#include "bp/log.h"

namespace bp {
namespace {

// A declared failure takes up to this time to come back from the store, which knows whether another
// one came first. Without an answer the store is gone, and this rank's own view decides.
constexpr std::chrono::milliseconds kEcho{1000};

}  // namespace

Job::Job(std::shared_ptr<Store> store,
         std::unique_ptr<Transport> transport,
         std::shared_ptr<SharedHost> shared,
         std::vector<int> ranks,
         std::vector<std::string> hosts)
    : store_(std::move(store)),
      transport_(std::move(transport)),
      messenger_(*transport_),
      shared_(std::move(shared)),
      ranks_(std::move(ranks)),
      blocked_(*store_, launcher_rank(transport_->rank())),
      links_(*transport_, ranks_, std::move(hosts)) {
  store_->on_job_failure(
      [this](const JobFailure& failure) { spread(error_of(failure.cause, failure.text)); });
}

Job::~Job() {
  if (!handed_over_) store_->on_job_failure({});
}

std::shared_ptr<Store> Job::hand_over_store() {
  if (!handed_over_.exchange(true)) store_->on_job_failure({});
  return store_;
}

void Job::add(Failure& failure) {
  {
    const std::lock_guard lock(mutex_);
    failures_.push_back(&failure);
  }
  if (const auto failed = store_->job_failure()) {
    failure.set(error_of(failed->cause, failed->text));
  }
}

void Job::remove(Failure& failure) {
  const std::lock_guard lock(mutex_);
  std::erase(failures_, &failure);
}

void Job::spread(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    for (Failure* failure : failures_) failure->set(error);
  }
  transport_->wake();
}

Error Job::fail(Failure& own, int cause, const Error& error) {
  if (handed_over_) return own.set(error);
  try {
    store_->fail_job({cause < 0 ? cause : launcher_rank(cause), to_text(error)});
  } catch (const Error& lost) {
    log(LogLevel::debug, concat("could not report a failure to the store: ", lost.what()));
  }
  if (const auto kept = own.wait(Deadline(kEcho))) return *kept;
  spread(error);
  return own.set(error);
}

LinkMonitor::LinkMonitor(Transport& transport,
                         std::vector<int> ranks,
                         std::vector<std::string> hosts)
    : transport_(transport),
      ranks_(std::move(ranks)),
      hosts_(std::move(hosts)),
      watches_(ranks_.size()) {}

std::string LinkMonitor::name_of(int peer) const {
  const auto index = static_cast<std::size_t>(peer);
  const std::string rank = concat("rank ", ranks_[index]);
  return index < hosts_.size() ? concat(rank, " on ", hosts_[index]) : rank;
}

std::string LinkMonitor::text_of(int peer, const DeadLink& dead) const {
  const std::string own = name_of(transport_.rank());
  const std::string other = name_of(peer);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(dead.silent).count();
  if (dead.hears_peer) {
    return concat(other, " gets nothing from ", own, ": ", dead.in_flight,
                  " bytes are not acknowledged for ", seconds, " s, although packets of ", other,
                  " arrive; the network loses packets on the way there, perhaps only large ones "
                  "(is an MTU too large, or does a firewall drop them?)");
  }
  return concat(own, " gets nothing from ", other, ", not even ",
                dead.in_flight > 0 ? concat("an acknowledgement of ", dead.in_flight, " bytes")
                                   : "an answer to keepalive probes",
                " for ", seconds,
                " s; the network between the two carries nothing (has a firewall or NAT forgotten "
                "the connection, or is a route gone?)");
}

LinkMonitor::Finding LinkMonitor::look(std::chrono::milliseconds least) {
  const std::lock_guard lock(mutex_);
  const auto now = LinkWatch::Clock::now();
  Finding found;
  int others = 0;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    const auto state = peer == transport_.rank() ? std::nullopt : transport_.look(peer);
    if (!state) continue;
    const auto dead = watches_[static_cast<std::size_t>(peer)].look(*state, now);
    if (!dead || dead->silent < least) continue;
    if (found.peer < 0) {
      found = {.peer = peer, .text = text_of(peer, *dead)};
    } else {
      ++others;
    }
  }
  if (others > 0) found.text += concat("; the same holds for ", others, " more ranks");
  return found;
}

}  // namespace bp
