#include <gloo/common/error.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/system/fd.h"
#include "comm/transport/gloo_plugin/adopt.h"
#include "comm/transport/gloo_plugin/delivery.h"

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

using Device = std::shared_ptr<gloo::transport::Device>;

// The transport of `rank` of three, with its connection to one peer.
std::shared_ptr<gloo::transport::Context> context(
    int rank,
    int peer,
    Fd connection,
    const Device& device = gloo::transport::tcp::CreateDevice("127.0.0.1")) {
  auto made = make_transport(device, rank, 3, 10s);
  adopt_connection(*made, peer, connection.release());
  return made;
}

// docs/acceptance.md, Strangers: Gloo gets only connections that have proved the key.
TEST(AdoptConnections, CarryMessages) {
  Ends ends = connection(false);
  const auto zero = context(0, 1, std::move(ends.a));
  const auto one = context(1, 0, std::move(ends.b));
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
  const auto zero = context(0, 1, std::move(ends.a));
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

// Gives the kernel as many bytes as it takes for a peer that does not read. Returns how many.
std::size_t fill(int fd) {
  const std::string bytes(1 << 16, 'x');
  std::size_t all = 0;
  for (const Deadline deadline(200ms); !deadline.passed();) {
    const ssize_t now = ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (now > 0) all += static_cast<std::size_t>(now);
  }
  return all;
}

// Reads to the end. Returns how many bytes came, or -1 if the connection was reset.
ssize_t read_all(int fd) {
  std::string buffer(1 << 20, '\0');
  for (ssize_t all = 0;;) {
    const ssize_t now = ::read(fd, buffer.data(), buffer.size());
    if (now <= 0) return now < 0 ? -1 : all;
    all += now;
  }
}

TEST(Delivery, EndsOnceThePeerHasAll) {
  Ends ends = connection(false);
  const Fd same(::dup(ends.a.get()));
  const auto zero = context(0, 1, std::move(ends.a));
  const std::size_t sent = fill(same.get());
  Delivery delivery(*zero, 0);
  std::atomic<bool> stop{false};
  EXPECT_FALSE(delivery.wait(Delivery::Clock::now() + 50ms, stop));
  EXPECT_EQ(delivery.left().peer, 1);
  EXPECT_GT(delivery.left().bytes, 0u);
  stop = true;
  EXPECT_FALSE(delivery.wait(Delivery::Clock::time_point::max(), stop));
  stop = false;
  EXPECT_EQ(read_all(ends.b.get()), static_cast<ssize_t>(sent));
  EXPECT_TRUE(delivery.wait(Delivery::Clock::now() + 10s, stop));
}

TEST(Delivery, NeedsNothingFromAPeerThatHasEnded) {
  Ends ends = connection(false);
  const Fd same(::dup(ends.a.get()));
  const auto zero = context(0, 1, std::move(ends.a));
  fill(same.get());
  Delivery delivery(*zero, 0);
  ends.b.reset();
  EXPECT_TRUE(delivery.wait(Delivery::Clock::now() + 10s, std::atomic<bool>(false)));
}

// As at the end of a process that does not call finish().
TEST(Delivery, ContinuesInTheKernelAfterAClose) {
  Ends ends = connection(false);
  const int fd = ends.a.get();
  const Device device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  const auto zero = context(0, 1, std::move(ends.a), device);
  const std::size_t sent = fill(fd);
  close_connections(*device, *zero, 0);
  EXPECT_EQ(read_all(ends.b.get()), static_cast<ssize_t>(sent));
}

}  // namespace
}  // namespace bp::gloo_plugin
