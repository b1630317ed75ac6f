#include "comm/engine/job.h"

#include <algorithm>
#include <chrono>
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

}  // namespace bp
