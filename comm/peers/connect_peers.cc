#include "comm/peers/connect_peers.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "base/deadline.h"
#include "base/system/thread.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/peers/connector.h"
#include "comm/peers/listener.h"

namespace bp {
namespace {

// Connections that a listener keeps beyond the number of ranks that it waits for, so that strangers
// push out strangers before they push out ranks.
constexpr std::size_t kStrangers = 64;
// How long to wait for news from the store when a rank cannot be reached: often that rank has just
// ended.
constexpr std::chrono::milliseconds kNewsOfFailure{500};

std::string limit_hint(int error) {
  return error == EMFILE || error == ENFILE ? "; raise the limit (ulimit -n)" : "";
}

// Threads: the constructing thread asks the store and waits; thread_ connects and accepts, so that
// a slow answer of the store delays neither.
class PeerSetup {
 public:
  PeerSetup(const PeerGroup& group, Listening own, Store& store)
      : group_(group),
        deadline_(group.timeout),
        local_(own.at.local()),
        name_(own.at.name()),
        address_(own.at.encode()),
        store_(store),
        all_(static_cast<std::size_t>(group.count)),
        listener_(io_,
                  std::move(own),
                  {.key = group.key,
                   .first = group.rank + 1,
                   .count = above(),
                   .most_unproven = kStrangers + static_cast<std::size_t>(above())},
                  {.on_peer = [this](int rank, Fd fd) { take(rank, std::move(fd)); },
                   .on_failure = [this](const std::string& why) { fail(-1, why); }}),
        thread_(start_thread("bp-connect", [this] { serve(); })) {
    store.on_job_failure([this](const JobFailure& failure) {
      const std::lock_guard lock(mutex_);
      job_failure_ = failure;
      changed_.notify_all();
    });
  }
  ~PeerSetup() {
    store_.on_job_failure({});
    stop_thread();
    for (const auto& [rank, connector] : connectors_) connector->stop();
    Refusals refusals = all_connected_ ? listener_.all_refused() : listener_.refused();
    refusals.log_as(concat("rank ", group_.rank));
  }
  PeerSetup(const PeerSetup&) = delete;
  PeerSetup& operator=(const PeerSetup&) = delete;

  std::vector<Fd> run() {
    try {
      start_connecting_to_lower_ranks();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::timeout) throw_missing();
      throw;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline_.at(),
                        [this] { return complete() || trouble_ || job_failure_; });
    if (!complete() && trouble_) {
      changed_.wait_until(lock, Deadline(kNewsOfFailure).at(),
                          [this] { return job_failure_.has_value(); });
    }
    if (job_failure_) {
      throw Error(ErrorCode::aborted,
                  concat("rank ", group_.rank, " stopped waiting to ", group_.purpose, " ",
                         group_.with, " the others: the job has failed: ", job_failure_->text));
    }
    over_ = true;
    all_connected_ = complete();
    if (all_connected_) return std::move(all_);
    const auto trouble = trouble_;
    lock.unlock();
    if (trouble) throw_trouble(*trouble);
    throw_missing();
  }

 private:
  struct Trouble {
    int rank = -1;  // the peer's; -1: this rank's listener has failed
    std::string why;
  };
  [[nodiscard]] int above() const { return group_.first + group_.count - 1 - group_.rank; }
  Fd& connection_to(int rank) { return all_[static_cast<std::size_t>(rank - group_.first)]; }

  void serve() noexcept {
    try {
      const auto busy = asio::make_work_guard(io_);
      io_.run();
    } catch (const std::exception& error) {  // probably no memory is left
      fail(-1, error.what());
    }
  }

  void start_connecting_to_lower_ranks() {
    const auto key_of = [this](int rank) { return concat(group_.keys, rank); };
    store_.set(key_of(group_.rank), address_);
    for (int lower = group_.first; lower < group_.rank; ++lower) {
      const auto where = Endpoint::decode(store_.get(key_of(lower), deadline_.left()));
      if (!where) throw_trouble({lower, "it published an address of another form"});
      asio::post(io_, [this, lower, where] { connect_to(lower, *where); });
    }
  }

  void connect_to(int rank, const Endpoint& where) {
    auto connector = std::make_shared<PeerConnector>(
        io_, group_.rank, group_.key, where,
        PeerConnector::Owner{
            .on_connected = [this, rank](Fd connection) { take(rank, std::move(connection)); },
            .on_failure = [this, rank](const std::string& why) { fail(rank, why); }});
    connectors_[rank] = connector;
    connector->start();
  }

  void take(int rank, Fd connection) {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    connection_to(rank) = std::move(connection);
    if (complete()) changed_.notify_all();
  }

  void fail(int rank, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!trouble_) trouble_ = {rank, why};
    changed_.notify_all();
  }

  [[nodiscard]] bool complete() const {
    return std::ranges::count_if(all_, [](const Fd& fd) { return static_cast<bool>(fd); }) ==
           group_.count - 1;
  }

  void stop_thread() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  [[noreturn]] void throw_trouble(const Trouble& trouble) const {
    const bool no_descriptor =
        trouble.why == error_text(EMFILE) || trouble.why == error_text(ENFILE);
    const std::string hint = no_descriptor ? "; raise the limit (ulimit -n)" : group_.hint;
    if (trouble.rank < 0) {
      throw Error(ErrorCode::io, concat("rank ", group_.rank, " cannot accept other ranks at ",
                                        name_, ": ", trouble.why, hint));
    }
    throw Error(ErrorCode::io,
                concat("rank ", group_.rank, " cannot ", group_.purpose, " ", group_.with, " rank ",
                       trouble.rank, ": ", trouble.why, hint));
  }

  [[noreturn]] void throw_missing() {
    stop_thread();
    std::vector<int> missing;
    std::string why;
    for (int rank = group_.first; rank < group_.first + group_.count; ++rank) {
      if (rank == group_.rank || connection_to(rank)) continue;
      missing.push_back(rank);
      const auto connector = connectors_.find(rank);
      if (connector != connectors_.end() && why.empty()) why = connector->second->trouble();
    }
    if (!why.empty()) why.insert(0, ": ");
    if (!local_) why = concat(" at ", name_, why, group_.hint);
    throw Error(ErrorCode::timeout,
                concat("rank ", group_.rank, " waited ", group_.timeout.count(), " ms for ",
                       ranks_text(missing), " to ", group_.purpose, why));
  }

  const PeerGroup& group_;
  const Deadline deadline_;
  const bool local_;
  const std::string name_;
  const std::string address_;
  Store& store_;

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::vector<Fd> all_;
  std::optional<Trouble> trouble_;
  std::optional<JobFailure> job_failure_;
  bool over_ = false;  // run() has stopped waiting, so take() ignores later connections
  bool all_connected_ = false;

  asio::io_context io_{1};
  PeerListener listener_;
  std::map<int, std::shared_ptr<PeerConnector>> connectors_;  // thread_ uses it until it is joined
  std::thread thread_;
};

std::string text_of(const std::system_error& error) {
  const int number = error.code().value();
  return concat(error_text(number), limit_hint(number));
}

}  // namespace

std::vector<Fd> connect_peers(const PeerGroup& group, Listening own, Store& store) {
  if (group.count == 1) return std::vector<Fd>(1);
  try {
    return PeerSetup(group, std::move(own), store).run();
  } catch (const std::system_error& error) {  // Asio's
    throw Error(ErrorCode::io, concat("rank ", group.rank, " cannot ", group.purpose, " ",
                                      group.with, " the others: ", text_of(error)));
  }
}

}  // namespace bp
