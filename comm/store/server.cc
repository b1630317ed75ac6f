#include "comm/store/server.h"

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "base/system/socket_address.h"
#include "base/system/thread.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/store/connection.h"
#include "comm/store/keepalive.h"
#include "comm/store/store_table.h"
#include "comm/store/strangers.h"

namespace bp {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds kCloseWithin{500};
constexpr std::chrono::milliseconds kLookWithin{500};
constexpr std::chrono::milliseconds kAcceptRetry{100};
// The number of checks for received data in the time after which a rank counts as silent.
constexpr int kChecks = 10;

tcp::acceptor listen_on(asio::io_context& io, const StoreServerOptions& options) {
  const StoreAddress wanted{.host = options.bind_address, .port = options.port};
  try {
    const auto address = asio::ip::make_address(wanted.host);
    const tcp::endpoint here(address, static_cast<asio::ip::port_type>(wanted.port));
    return {io, here, /*reuse_addr=*/true};
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io,
                concat("the store cannot listen on ", wanted.text(), ": ", error.code().message(),
                       wanted.port == 0 ? ""
                                        : "; is another program using the port? "
                                          "0 takes any free one"));
  }
}

}  // namespace

// Threads: all functions run on thread_, except the constructor, the destructor, address(), and
// those that post to io_: fail_job(), request_stop() and values().
class StoreServer::Impl final : public StoreConnection::Owner {
 public:
  Impl(const StoreServerOptions& options, std::function<void(const StoreEvent&)> listener)
      : settings_{.job = options.job,
                  .key = options.key,
                  .handshake_timeout = options.handshake_timeout,
                  .silence = std::max(kStoreSilence, options.silence_limit)},
        world_size_(options.world_size),
        survivors_go_on_(options.survivors_go_on),
        silence_limit_(options.silence_limit),
        listener_(std::move(listener)),
        acceptor_(listen_on(io_, options)),
        address_{.host = options.bind_address, .port = acceptor_.local_endpoint().port()},
        accept_timer_(io_),
        silence_timer_(io_),
        strangers_(io_) {
    acceptor_.non_blocking(true);
    accept();
    schedule_silence_check();
    thread_ = start_thread("bp-store", [this] {
      io_.run();
      finished_.set_value();
    });
  }

  ~Impl() override {
    asio::post(io_, [this] { shut_down(); });
    if (finished_.get_future().wait_for(kCloseWithin) != std::future_status::ready) {
      io_.stop();  // a client does not read what is left for it
    }
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] const StoreAddress& address() const { return address_; }

  void fail_job(const JobFailure& failure) {
    asio::post(io_, [this, failure] { keep_failure(failure); });
  }

  void request_stop() {
    asio::post(io_, [this] { keep_stop(); });
  }

  std::map<std::string, std::string> values(const std::string& prefix) {
    const auto result = std::make_shared<std::promise<std::map<std::string, std::string>>>();
    asio::post(io_, [this, prefix, result] { result->set_value(table_.values(prefix)); });
    auto future = result->get_future();
    if (future.wait_for(kLookWithin) != std::future_status::ready) return {};
    return future.get();
  }

 private:
  struct Member {
    StoreConnection::Id connection = 0;
    int quiet = 0;  // successive checks at which nothing had arrived from it
  };

  void accept() {
    // Waits for a connection first: without a free descriptor, accept() fails even if none waits.
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](asio::error_code) {
      if (!acceptor_.is_open()) {
        return;
      }
      asio::error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error == asio::error::would_block || error == asio::error::connection_aborted) {
        accept();
        return;
      }
      if (error) {  // probably no descriptor is left; closing a stranger's frees one for a member
        strangers_.drop_one_older_than(kAcceptRetry);
        accept_timer_.expires_after(kAcceptRetry);
        accept_timer_.async_wait([this](asio::error_code cancelled) {
          if (!cancelled) {
            accept();
          }
        });
        return;
      }
      if (StoreStrangers::has_given_up(socket.native_handle())) {
        accept();
        return;
      }
      std::string from = peer_name_of(socket.native_handle());
      strangers_.add(
          std::make_shared<StoreConnection>(next_id_++, std::move(socket), settings_, *this),
          std::move(from));
      accept();
    });
  }

  void shut_down() {
    asio::error_code ignored;
    acceptor_.close(ignored);
    accept_timer_.cancel();
    silence_timer_.cancel();
    strangers_.close();
    for (const auto& [id, client] : clients_) {
      client->close();
    }
    clients_.clear();
  }

  // Counts checks instead of reading the clock, so that no rank counts as silent because this
  // process was stopped.
  void schedule_silence_check() {
    silence_timer_.expires_after(silence_limit_ / kChecks);
    silence_timer_.async_wait([this](asio::error_code cancelled) {
      if (cancelled || !acceptor_.is_open()) {
        return;
      }
      for (auto& [rank, member] : ranks_) {
        check_silence(rank, member);
      }
      schedule_silence_check();
    });
  }

  void check_silence(int rank, Member& member) {
    const bool was_silent = member.quiet > kChecks;
    const bool heard = clients_.at(member.connection)->take_heard();
    member.quiet = heard ? 0 : member.quiet + 1;
    if (heard && was_silent) {
      notify_owner(StoreEvent::Kind::back, rank);
    } else if (member.quiet == kChecks + 1) {
      notify_owner(StoreEvent::Kind::silent, rank);
    }
  }

  void keep_failure(const JobFailure& failure) {
    if (failure_ && !survivors_go_on_) {
      return;
    }
    failure_ = failure;
    ++generation_;
    survivors_.clear();
    table_.forget_waits();  // clients end their waits when they receive the failure
    for (const auto& [id, client] : clients_) {
      if (notified_.insert(id).second) {
        client->send({.op = StoreOp::failed, .number = failure.cause, .strings = {failure.text}});
      }
    }
  }

  void keep_stop() {
    if (!std::exchange(stop_requested_, true)) {
      push({.op = StoreOp::stop_requested});
    }
  }

  void push(const StoreMessage& message) {
    for (const auto& [id, client] : clients_) client->send(message);
  }

  void answer(StoreConnection& connection, std::uint64_t id) {
    connection.send({.op = StoreOp::done, .id = id});
  }

  void take_failure(const StoreConnection& connection, StoreMessage& message) {
    const int rank = connection.rank();
    const JobFailure failure{.cause = static_cast<int>(message.number),
                             .text = std::move(message.strings[0])};
    const bool consequence = rank >= 0 && failure.cause >= 0 && failure.cause != rank;
    notify_owner(consequence ? StoreEvent::Kind::consequence : StoreEvent::Kind::failed, rank,
                 failure);
    // A client that was notified of a failure reports that one, not another.
    if (!survivors_go_on_ || !notified_.contains(connection.id())) {
      keep_failure(failure);
    }
  }

  void take_goodbye(const StoreConnection& connection) {
    if (connection.rank() >= 0 && ranks_.erase(connection.rank()) > 0) {
      notify_owner(StoreEvent::Kind::goodbye, connection.rank());
    }
  }

  void take_join_of_survivors(StoreConnection& connection, std::uint64_t id) {
    if (!survivors_go_on_) {
      connection.send({.op = StoreOp::rejected,
                       .id = id,
                       .strings = {"this job ends with its first failure (bprun --on-failure "
                                   "continue lets the survivors continue)"}});
      return;
    }
    if (survivors_.empty()) {
      for (const auto& [rank, member] : ranks_) {
        survivors_.push_back(std::to_string(rank));
      }
    }
    notified_.erase(connection.id());
    connection.send(
        {.op = StoreOp::joined_survivors, .id = id, .number = generation_, .strings = survivors_});
  }

  void notify_owner(StoreEvent::Kind kind, int rank, const JobFailure& failure = {}) const {
    if (listener_) listener_({.kind = kind, .rank = rank, .failure = failure});
  }

  std::optional<StoreRefusal> admit(const StoreConnection& connection) override {
    strangers_.admit(connection);
    if (connection.rank() >= world_size_) {
      return StoreRefusal::rank_range;
    }
    return ranks_.contains(connection.rank()) ? std::optional(StoreRefusal::rank_taken)
                                              : std::nullopt;
  }

  void joined(StoreConnection& connection) override {
    clients_.emplace(connection.id(), connection.shared_from_this());
    if (failure_ && !survivors_go_on_) {
      connection.send(
          {.op = StoreOp::failed, .number = failure_->cause, .strings = {failure_->text}});
    }
    if (stop_requested_) {
      connection.send({.op = StoreOp::stop_requested});
    }
    // The welcome comes last, so that a client that has joined knows of the failure or the stop.
    connection.send({.op = StoreOp::welcome, .number = silence_limit_.count() / kBeatsInSilence});
    if (connection.rank() >= 0) {
      ranks_.emplace(connection.rank(), Member{.connection = connection.id()});
      notify_owner(StoreEvent::Kind::joined, connection.rank());
    }
  }

  void received(StoreConnection& connection, StoreMessage message) override {
    const std::uint64_t id = message.id;
    switch (message.op) {
      case StoreOp::fail:
        take_failure(connection, message);
        answer(connection, id);
        return;
      case StoreOp::stop:
        notify_owner(StoreEvent::Kind::stop_requested, connection.rank());
        keep_stop();
        answer(connection, id);
        return;
      case StoreOp::goodbye:
        take_goodbye(connection);
        answer(connection, id);
        return;
      case StoreOp::join_survivors:
        take_join_of_survivors(connection, id);
        return;
      case StoreOp::alive:
        return;
      default:
        break;
    }
    if (message.op < StoreOp::set || message.op > StoreOp::erase) {
      connection.send({.op = StoreOp::rejected, .id = id, .strings = {"this is not a request"}});
      return;
    }
    for (auto& answer : table_.handle(connection.id(), std::move(message))) {
      if (const auto other = clients_.find(answer.client); other != clients_.end()) {
        other->second->send(std::move(answer.message), std::move(answer.value));
      }
    }
  }

  void lost(StoreConnection& connection, const std::string& why) override {
    if (!connection.admitted()) {
      strangers_.remove(connection, why);
      return;
    }
    table_.forget_client(connection.id());
    clients_.erase(connection.id());
    notified_.erase(connection.id());
    const int rank = connection.rank();
    const auto member = ranks_.find(rank);
    if (member == ranks_.end() || member->second.connection != connection.id()) {
      return;  // an observer, or a rank that has said goodbye
    }
    ranks_.erase(member);
    const JobFailure failure{.cause = rank,
                             .text = concat("rank ", rank,
                                            " lost: the store's connection to it ended "
                                            "without goodbye (",
                                            why, ")")};
    notify_owner(StoreEvent::Kind::lost, rank, failure);
    keep_failure(failure);
  }

  const StoreConnection::Settings settings_;
  const int world_size_;
  const bool survivors_go_on_;
  const std::chrono::milliseconds silence_limit_;
  const std::function<void(const StoreEvent&)> listener_;

  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  const StoreAddress address_;
  asio::steady_timer accept_timer_;
  asio::steady_timer silence_timer_;

  StoreConnection::Id next_id_ = 1;
  StoreStrangers strangers_;
  std::unordered_map<StoreConnection::Id, std::shared_ptr<StoreConnection>> clients_;
  std::map<int, Member> ranks_;  // those that are connected and have not said goodbye
  StoreTable table_;
  std::optional<JobFailure> failure_;  // the first, or with survivors_go_on_ the last
  // Clients that were notified of it and have not called join_survivors() since.
  std::unordered_set<StoreConnection::Id> notified_;
  int generation_ = 0;  // failures so far
  // The ranks in ranks_ when the first client of this generation called join_survivors().
  std::vector<std::string> survivors_;
  bool stop_requested_ = false;

  std::promise<void> finished_;
  std::thread thread_;
};

StoreServer::StoreServer(const StoreServerOptions& options,
                         std::function<void(const StoreEvent&)> listener)
    : impl_(std::make_unique<Impl>(options, std::move(listener))) {}

StoreServer::~StoreServer() = default;

StoreAddress StoreServer::address() const { return impl_->address(); }
void StoreServer::fail_job(const JobFailure& failure) { impl_->fail_job(failure); }
void StoreServer::request_stop() { impl_->request_stop(); }
std::map<std::string, std::string> StoreServer::values(const std::string& prefix) {
  return impl_->values(prefix);
}

}  // namespace bp
