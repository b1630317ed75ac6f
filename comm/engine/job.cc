#include "comm/engine/job.h"

#include <algorithm>
#include <utility>

#include "bp/log.h"
#include "comm/base/text.h"

namespace bp {
namespace {

// How long a failure that was declared may take to come back from the store, which knows whether
// another came first. Without an answer the store is gone, and the own view has to do.
constexpr std::chrono::milliseconds kEcho{1000};

}  // namespace

Job::Job(std::unique_ptr<Store> store,
         std::unique_ptr<Transport> transport,
         std::shared_ptr<SharedHost> shared)
    : store_(std::move(store)), transport_(std::move(transport)), shared_(std::move(shared)) {
  store_->on_job_failure(
      [this](const JobFailure& failure) { spread(error_of(failure.cause, failure.text)); });
}

Job::~Job() { store_->on_job_failure({}); }

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
  try {
    store_->fail_job({cause, to_text(error)});
  } catch (const Error& lost) {
    log(LogLevel::debug, concat("could not tell the store of a failure: ", lost.what()));
  }
  if (const auto kept = own.wait(Deadline(kEcho))) return *kept;
  spread(error);
  return own.set(error);
}

}  // namespace bp
