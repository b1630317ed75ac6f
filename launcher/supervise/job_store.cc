#include "launcher/supervise/job_store.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/quoted.h"
#include "base/resume_words.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/store/report_keys.h"
#include "launcher/agent/liveness_check.h"
#include "launcher/network/port_holder.h"

namespace bp::launcher {
namespace {

// A port that the user chose may be taken.
std::unique_ptr<StoreServer> start_store(const StoreServerOptions& options,
                                         std::function<void(const StoreEvent&)> listener) {
  try {
    return std::make_unique<StoreServer>(options, std::move(listener));
  } catch (const Error& error) {
    if (options.port == 0) {
      throw;
    }
    const std::string holder = port_holder(options.port);
    throw Error(
        ErrorCode::invalid_argument,
        concat("--store-port: ", holder.empty() ? error.what()
                                                : concat("port ", options.port, " is held by ",
                                                         holder, "; 0 takes any free one")));
  }
}

}  // namespace

JobStore::JobStore(EventLoop& loop,
                   const StoreServerOptions& options,
                   std::function<void(const StoreEvent&)> on_event)
    : loop_(loop),
      on_event_(std::move(on_event)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      server_(start_store(options, [this](const StoreEvent& event) { push(event); })) {
  if (!wake_) {
    throw Error(ErrorCode::io, concat("eventfd failed: ", error_text(errno)));
  }
  loop_.watch(wake_.get(), POLLIN, [this](short) { deliver(); });
}

JobStore::~JobStore() { loop_.forget(wake_.get()); }

std::map<std::string, std::string> JobStore::signs_of_hosts() const {
  return server_->values(kHostAliveKeys);
}

std::string JobStore::resume_arguments() const {
  const auto values = server_->values(std::string(kResumeArguments));
  return values.empty() ? "" : values.begin()->second;
}

std::map<int, std::string> JobStore::collectives_in_flight() const {
  std::map<int, std::string> collectives;
  for (const auto& [key, text] : server_->values(std::string(kUnderWayKeys))) {
    collectives.emplace(std::atoi(key.c_str() + kUnderWayKeys.size()), quoted_line(text));
  }
  return collectives;
}

void JobStore::push(const StoreEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back(event);
  }
  ::eventfd_write(wake_.get(), 1);
}

void JobStore::deliver() {
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  std::vector<StoreEvent> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(pending_);
  }
  for (const StoreEvent& event : events) {
    on_event_(event);
  }
}

}  // namespace bp::launcher
