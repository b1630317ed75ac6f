#include "comm/peers/connect_peers.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/peers/peer_connections.h"

namespace bp {
namespace {

// How long to wait for news from the store when a rank cannot be reached: often that rank has just
// ended.
constexpr std::chrono::milliseconds kNewsOfFailure{500};

std::string limit_hint(int error) {
  return error == EMFILE || error == ENFILE ? "; raise the limit (ulimit -n)" : "";
}

// Threads: the constructing thread asks the store and waits. That of connections_ calls take() and
// fail().
class PeerSetup {
 public:
  PeerSetup(const PeerGroup& group, Listening own, Store& store)
      : group_(group),
        deadline_(group.timeout),
        local_(!own.socket || own.at.local()),
        name_(own.socket ? own.at.name() : ""),
        address_(own.socket ? own.at.encode() : ""),
        store_(store),
        all_(static_cast<std::size_t>(group.count)),
        connections_(
            {.rank = group.rank,
             .first = group.first + 1,
             .count = is_first() ? group.count - 1 : 0,
             .key = group.key},
            std::move(own),
            {.on_connected = [this](int rank, Fd fd) { take(rank, std::move(fd)); },
             .on_failure = [this](int rank, const std::string& why) { fail(rank, why); }}) {
    store.on_job_failure([this](const JobFailure& failure) {
      const std::lock_guard lock(mutex_);
      job_failure_ = failure;
      changed_.notify_all();
    });
  }
  ~PeerSetup() {
    store_.on_job_failure({});
    connections_.stop();
  }
  PeerSetup(const PeerSetup&) = delete;
  PeerSetup& operator=(const PeerSetup&) = delete;

  std::vector<Fd> run() {
    try {
      begin();
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
    if (complete()) {
      connections_.expect_no_more();
      return std::move(all_);
    }
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
  [[nodiscard]] bool is_first() const { return group_.rank == group_.first; }
  Fd& connection_to(int rank) { return all_[static_cast<std::size_t>(rank - group_.first)]; }

  void begin() {
    const std::string key = concat(group_.keys, group_.first);
    if (is_first()) return store_.set(key, address_);
    const auto where = Endpoint::decode(store_.get(key, deadline_.left()));
    if (!where) throw_trouble({group_.first, "it published an address of another form"});
    connections_.connect_to(group_.first, *where);
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
           (is_first() ? group_.count - 1 : 1);
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
    connections_.stop();
    std::vector<int> missing{group_.first};
    if (is_first()) missing.clear();
    for (int rank = group_.first + 1; is_first() && rank < group_.first + group_.count; ++rank) {
      if (!connection_to(rank)) missing.push_back(rank);
    }
    std::string why = connections_.trouble(group_.first);
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

  PeerConnections connections_;
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
