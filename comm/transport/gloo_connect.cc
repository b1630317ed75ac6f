#include "comm/transport/gloo_connect.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "bp/error.h"
#include "comm/base/deadline.h"
#include "comm/base/fd.h"
#include "comm/base/text.h"
#include "comm/base/thread.h"

namespace bp {
namespace {

namespace plugin = gloo_plugin;

// Beyond Gloo's own deadline, which it keeps to the second.
constexpr std::chrono::milliseconds kGloosDelay{5'000};
// A connection that fails is often the echo of a rank's end, whose news is on its way.
constexpr std::chrono::milliseconds kNewsOfFailure{500};

bool wanted_descriptor(const std::string& gloos_text) {
  return gloos_text.find(error_text(EMFILE)) != std::string::npos;
}

// What went wrong here comes first; others will see its echo.
bool may_be_an_echo(const plugin::Failure& failure) {
  return failure.kind == plugin::Failure::lost && !wanted_descriptor(failure.text);
}

// Threads: one runs it, one waits for it, the store's brings the news. The one that runs it may be
// left behind; it then finds the store gone.
class Attempt {
 public:
  Attempt(const plugin::Table& table, GlooOptions options, Store& store)
      : table_(table), options_(std::move(options)), deadline_(options_.timeout), store_(&store) {}

  void run();
  // The context, or null with what went wrong in `failure`; throws what the store threw.
  void* wait(plugin::Failure& failure);
  // False where the thread that runs it is still at it.
  [[nodiscard]] bool done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  static bool set(void* self, const char* key, const char* value, std::size_t bytes);
  static bool get(void* self,
                  const char* key,
                  void* to,
                  void (*give)(void* to, const char* value, std::size_t bytes));
  template <class Action>
  bool with_store(const Action& action) noexcept;

  const plugin::Table& table_;
  const GlooOptions options_;
  const Deadline deadline_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Store* store_;  // null once the attempt is abandoned
  int store_calls_ = 0;
  std::exception_ptr thrown_;  // by the store
  std::optional<JobFailure> job_failure_;
  bool done_ = false;
  void* context_ = nullptr;
  plugin::Failure failure_;
};

template <class Action>
bool Attempt::with_store(const Action& action) noexcept {
  std::unique_lock lock(mutex_);
  Store* const store = store_;
  if (store == nullptr) return false;
  ++store_calls_;
  lock.unlock();
  std::exception_ptr thrown;
  try {
    action(*store);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  --store_calls_;
  if (thrown) thrown_ = thrown;
  changed_.notify_all();
  return thrown == nullptr;
}

bool Attempt::set(void* self, const char* key, const char* value, std::size_t bytes) {
  return static_cast<Attempt*>(self)->with_store([&](Store& store) {
    store.set(key, {value, bytes});
  });
}

bool Attempt::get(void* self,
                  const char* key,
                  void* to,
                  void (*give)(void* to, const char* value, std::size_t bytes)) {
  auto& attempt = *static_cast<Attempt*>(self);
  return attempt.with_store([&](Store& store) {
    const std::string value = store.get(key, attempt.deadline_.left());
    give(to, value.data(), value.size());
  });
}

void Attempt::run() {
  plugin::ConnectOptions connect;
  connect.rank = options_.rank;
  connect.size = options_.size;
  connect.interface = options_.listen.interface.c_str();
  connect.address = options_.listen.address.c_str();
  connect.timeout_ms = options_.timeout.count();
  connect.batch_thread = !options_.as_packaged;
  connect.store = {this, set, get};
  plugin::Failure failure;
  void* const context = table_.connect(&connect, &failure);
  std::unique_lock lock(mutex_);
  done_ = true;
  context_ = context;
  failure_ = failure;
  changed_.notify_all();
  const bool abandoned = store_ == nullptr;
  lock.unlock();
  if (abandoned && context != nullptr) table_.disconnect(context);
}

void* Attempt::wait(plugin::Failure& failure) {
  store_->on_job_failure([this](const JobFailure& failed) {
    const std::lock_guard lock(mutex_);
    job_failure_ = failed;
    changed_.notify_all();
  });
  Store& store = *store_;
  std::unique_lock lock(mutex_);
  const Deadline latest(options_.timeout + kGloosDelay);
  changed_.wait_until(lock, latest.at(), [this] { return done_ || job_failure_; });
  if (done_ && context_ == nullptr && !thrown_ && may_be_an_echo(failure_)) {
    changed_.wait_until(lock, Deadline(kNewsOfFailure).at(),
                        [this] { return job_failure_.has_value(); });
  }
  lock.unlock();
  store.on_job_failure({});  // waits for a call that runs, which wants the mutex
  lock.lock();
  failure = failure_;
  if (done_ && context_ != nullptr) return context_;
  const bool failed_in_store = thrown_ != nullptr && !job_failure_;
  store_ = nullptr;
  // Short: a call of the store ends at its deadline, or when the job fails.
  changed_.wait(lock, [this] { return store_calls_ == 0; });
  if (failed_in_store) std::rethrow_exception(thrown_);
  if (job_failure_) {
    throw Error(
        ErrorCode::aborted,
        concat("rank ", options_.rank, " of ", options_.size,
               " stopped connecting to the others: the job has failed: ", job_failure_->text));
  }
  if (!done_) {
    failure.kind = plugin::Failure::timeout;
    constexpr std::string_view kSilent = "Gloo does not come back";
    failure.text[kSilent.copy(failure.text, sizeof(failure.text) - 1)] = '\0';
  }
  return nullptr;
}

// What to try, in brackets. Gloo does not always say that it wanted a descriptor.
std::string hint_for(const std::string& gloos_text) {
  const Fd another(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  const bool none_left = !another && errno == EMFILE;
  if (wanted_descriptor(gloos_text)) return " (raise the limit, ulimit -n)";
  if (none_left) return concat(" (", error_text(EMFILE), "; raise the limit, ulimit -n)");
  return " (is another interface, BP_INTERFACE, the one that reaches them?)";
}

}  // namespace

void* connect_gloo(const plugin::Table& table, const GlooOptions& options, Store& store) {
  const auto attempt = std::make_shared<Attempt>(table, options, store);
  std::thread thread = start_thread("bp-connect", [attempt] { attempt->run(); });
  struct End {
    std::thread& thread;
    const Attempt& attempt;
    ~End() { attempt.done() ? thread.join() : thread.detach(); }
  } const end{thread, *attempt};
  plugin::Failure failure;
  void* const context = attempt->wait(failure);
  if (context != nullptr) return context;
  throw Error(failure.kind == plugin::Failure::timeout ? ErrorCode::timeout : ErrorCode::io,
              concat("rank ", options.rank, " of ", options.size,
                     " could not connect to all others from ", options.listen.interface,
                     options.listen.address, ": ", failure.text, hint_for(failure.text)));
}

}  // namespace bp
