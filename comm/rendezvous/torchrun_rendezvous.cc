// Rendezvous by PyTorch's TCPStore: a client that can set, wait for, get and delete one key. The
// protocol's numbers have the machine's byte order. A string is its length in 8 bytes and then its
// bytes. The TCPStore has no authentication: any process that reaches the master's port can read
// the job's key, and could also join the job through torchrun itself.
#include <chrono>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/rendezvous/channels.h"
#include "comm/store/socket.h"

namespace bp {
namespace {

// PyTorch's QueryType, from version 2.1 on.
enum class Query : char { validate = 0, set = 1, get = 3, wait = 6, delete_key = 8 };

constexpr std::uint32_t kTorchMagic = 0x3C85F7CE;
constexpr std::uint64_t kMostValue = 4096;
constexpr std::chrono::seconds kWithdrawTimeout{1};

template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::string string_of(const std::string& text) {
  return bytes_of<std::uint64_t>(text.size()) + text;
}

std::string query(Query query) { return {static_cast<char>(query)}; }

class TorchrunRendezvous final : public StoreRendezvous {
 public:
  TorchrunRendezvous(StoreAddress address, const LaunchedRank& rank)
      : address_(std::move(address)),
        key_(string_of(concat("bp/", rank.job, "/store"))),
        found_by_(rank.found_by) {}

  void publish(const StoreEndpoint& endpoint, const Deadline& deadline) override {
    open(deadline);
    send(query(Query::set) + key_ + string_of(to_text(endpoint)), deadline);
    await(deadline);  // the answer shows that the store has the value
  }

  StoreEndpoint look_up(const Deadline& deadline) override {
    open(deadline);
    await(deadline);
    send(query(Query::get) + key_, deadline);
    std::uint64_t size = 0;
    const std::string prefix = receive(sizeof(size), deadline);
    std::memcpy(&size, prefix.data(), sizeof(size));
    if (size > kMostValue) fail(ErrorCode::io, concat("it sent a value of ", size, " bytes"));
    return parse_endpoint(receive(size, deadline));
  }

  // torchrun's store outlives the ranks that it restarts.
  [[nodiscard]] bool may_be_stale() const override { return true; }

  void withdraw() override {
    std::string why;
    (void)send_all(socket_.get(), query(Query::delete_key) + key_, Deadline(kWithdrawTimeout), why);
  }

 private:
  void open(const Deadline& deadline) {
    std::string why;
    received_.clear();
    socket_ = connect_tcp(address_, deadline, why);
    if (!socket_) fail(ErrorCode::timeout, why);
    send(query(Query::validate) + bytes_of(kTorchMagic), deadline);
  }

  void await(const Deadline& deadline) {
    send(query(Query::wait) + bytes_of<std::uint64_t>(1) + key_, deadline);
    if (receive(1, deadline) != std::string(1, '\0')) fail(ErrorCode::io, "the wait was cancelled");
  }

  void send(const std::string& bytes, const Deadline& deadline) {
    std::string why;
    if (!send_all(socket_.get(), bytes, deadline, why)) fail(ErrorCode::io, why);
  }

  std::string receive(std::size_t count, const Deadline& deadline) {
    std::string why;
    while (received_.size() < count) {
      if (!receive_some(socket_.get(), received_, deadline, why)) {
        fail(
            deadline.passed() ? ErrorCode::timeout : ErrorCode::io,
            concat(why, " (rank 0 publishes the address of the job's store there: did it start?)"));
      }
    }
    std::string taken = received_.substr(0, count);
    received_.erase(0, count);
    return taken;
  }

  [[noreturn]] void fail(ErrorCode code, const std::string& why) const {
    throw Error(code, concat(found_by_, ": torchrun's store at ", address_.text(), ": ", why));
  }

  const StoreAddress address_;
  const std::string key_;
  const std::string found_by_;
  Fd socket_;
  std::string received_;  // bytes that receive() has not returned yet
};

}  // namespace

std::unique_ptr<StoreRendezvous> rendezvous_by_torchrun(const LaunchedRank& rank,
                                                        const Variables& variables) {
  return std::make_unique<TorchrunRendezvous>(master_address(rank, variables), rank);
}

}  // namespace bp
