// The answers of PyTorch's TCPStore to a rank that looks up the job's store.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/system/fd.h"
#include "comm/rendezvous/channels.h"
#include "fuzz.h"

namespace {

using namespace bp;

// Sends the same bytes to each client, whatever the client asks.
class AnswerServer {
 public:
  AnswerServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    if (::bind(socket_.get(), any, length) != 0 || ::listen(socket_.get(), 16) != 0 ||
        ::getsockname(socket_.get(), any, &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    std::thread([this] { serve(); }).detach();
  }

  [[nodiscard]] int port() const { return port_; }
  void set_answer(std::string answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }

 private:
  [[noreturn]] void serve() {
    for (;;) {
      const Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) std::abort();
      // No port may stay in TIME_WAIT, because the next input needs one soon.
      const linger reset = {.l_onoff = 1, .l_linger = 0};
      ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      {
        const std::lock_guard lock(mutex_);
        (void)::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
      }
      ::shutdown(client.get(), SHUT_WR);
      char request[256];
      while (::recv(client.get(), request, sizeof request, 0) > 0) {
      }
    }
  }

  const Fd socket_;
  int port_ = 0;
  std::mutex mutex_;
  std::string answer_;  // guarded by mutex_
};

}  // namespace

FUZZ_TARGET(torch_store) {
  static AnswerServer& server = *new AnswerServer;  // lives as long as its thread
  server.set_answer(bp::test::text_of(data, std::min<std::size_t>(size, 16384)));
  const LaunchedRank rank = {.launcher = "torchrun",
                             .found_by = "TORCHELASTIC_RUN_ID=a",
                             .rank = 1,
                             .size = 2,
                             .job = "a",
                             .master_host = "127.0.0.1",
                             .master_port = std::to_string(server.port())};
  bp::test::read_anything([&] {
    const StoreEndpoint endpoint = rendezvous_by_torchrun(rank, Variables(Variables::Map()))
                                       ->look_up(Deadline(std::chrono::seconds(5)));
    if (endpoint.store.host.empty() || endpoint.store.port < 1) std::abort();
  });
  return 0;
}
