#include "comm/store/strangers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace bp {
namespace {

// Each holds about 2 KiB: a StoreConnection and a buffer for one message of the handshake.
constexpr std::size_t kMaxStrangers = 256;
constexpr std::chrono::milliseconds kLogAfter{1'000};

}  // namespace

bool StoreStrangers::has_given_up(int socket) {
  constexpr std::uint32_t kSilentMs = 1'000;
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::poll(&state, 1, 0) == 1 &&
         ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_last_data_recv >= kSilentMs;
}

void StoreStrangers::add(std::shared_ptr<StoreConnection> connection, std::string from) {
  if (strangers_.size() >= kMaxStrangers) {
    drop_oldest();
  }
  strangers_.push_back({std::move(connection), std::move(from), std::chrono::steady_clock::now()});
  strangers_.back().connection->start();
}

void StoreStrangers::drop_one_older_than(std::chrono::milliseconds age) {
  const auto limit = std::chrono::steady_clock::now() - age;
  if (!strangers_.empty() && strangers_.front().since <= limit) {
    drop_oldest();
  }
}

void StoreStrangers::drop_oldest() {
  strangers_.front().connection->close();
  count(strangers_.front(), "it did not prove the key before many others connected");
  strangers_.pop_front();
}

void StoreStrangers::admit(const StoreConnection& connection) {
  strangers_.remove_if([&](const Stranger& each) { return each.connection.get() == &connection; });
}

void StoreStrangers::remove(const StoreConnection& connection, const std::string& why) {
  const auto stranger = std::ranges::find_if(
      strangers_, [&](const Stranger& each) { return each.connection.get() == &connection; });
  if (stranger != strangers_.end()) {
    count(*stranger, why);
    strangers_.erase(stranger);
  }
}

// Does not count those that are left as refused: they may be ranks that have just connected.
void StoreStrangers::close() {
  timer_.cancel();
  for (const Stranger& stranger : strangers_) {
    stranger.connection->close();
  }
  strangers_.clear();
  refusals_.log_as("the store");
}

void StoreStrangers::count(const Stranger& stranger, const std::string& why) {
  refusals_.add(stranger.from, why);
  if (refusals_.count() > 1) {
    return;
  }
  timer_.expires_after(kLogAfter);
  timer_.async_wait([this](asio::error_code cancelled) {
    if (!cancelled) {
      refusals_.log_as("the store");
    }
  });
}

}  // namespace bp
