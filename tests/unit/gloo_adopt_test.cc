#include <gloo/common/error.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "comm/transport/gloo_plugin/adopt.h"

namespace bp::gloo_plugin {
namespace {

using namespace std::chrono_literals;

// Two ends of a TCP connection.
struct Ends {
  Fd a;
  Fd b;  // empty if the connection was reset
};
Ends connection(bool reset) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listener.get(), name, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), name, &size), 0);
  Fd connected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(connected.get(), name, size), 0);
  // closing the listener resets the connection that it has not accepted
  if (reset) return {std::move(connected), Fd()};
  return {std::move(connected), Fd(::accept(listener.get(), nullptr, nullptr))};
}

std::shared_ptr<gloo::transport::Context> context(int rank, const std::vector<int>& connections) {
  Connections taken(connections);
  return adopt_connections(gloo::transport::tcp::CreateDevice("127.0.0.1"), rank, taken, 10s);
}

TEST(AdoptConnections, CarryMessages) {
  Ends ends = connection(false);
  const auto zero = context(0, {-1, ends.a.release()});
  const auto one = context(1, {ends.b.release(), -1});
  std::string sent = "over an adopted connection";
  std::string received(sent.size(), '\0');
  const auto from = zero->createUnboundBuffer(sent.data(), sent.size());
  const auto into = one->createUnboundBuffer(received.data(), received.size());
  from->send(1, 7);
  into->recv(0, 7);
  EXPECT_TRUE(from->waitSend(10s));
  EXPECT_TRUE(into->waitRecv(10s));
  EXPECT_EQ(received, sent);
}

// Gloo asks the kernel for the address of the peer, which the kernel no longer knows after a reset.
TEST(AdoptConnections, ResetConnectionFailsWhenUsed) {
  Ends ends = connection(true);
  const auto zero = context(0, {-1, ends.a.release()});
  std::string data = "never read";
  const auto buffer = zero->createUnboundBuffer(data.data(), data.size());
  try {
    buffer->send(1, 7);
    buffer->waitSend(10s);
    FAIL();
  } catch (const gloo::IoException& error) {
    EXPECT_NE(std::string(error.what()).find("Connection closed by peer"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace bp::gloo_plugin
