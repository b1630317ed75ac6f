// The bytes that PyTorch 2.11's TCPStore was observed to accept and send.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>
#include <utility>
#include <vector>

#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/rendezvous/store_rendezvous.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Accepts one client, and answers each expected text with the one beside it.
class ScriptedStore {
 public:
  explicit ScriptedStore(std::vector<std::pair<std::string, std::string>> script)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, script = std::move(script)] { serve(script); });
  }
  ~ScriptedStore() { thread_.join(); }

  [[nodiscard]] std::unique_ptr<StoreRendezvous> rendezvous() const {
    LaunchedRank rank;
    rank.launcher = "torchrun";
    rank.found_by = "TORCHELASTIC_RUN_ID=r";
    rank.size = 2;
    rank.job = "r.0";
    rank.master_host = "127.0.0.1";
    rank.master_port = concat(port_);
    return choose_rendezvous(rank,
                             Variables(Variables::Map{{"TORCHELASTIC_USE_AGENT_STORE", "True"}}));
  }

 private:
  void serve(const std::vector<std::pair<std::string, std::string>>& script) const {
    const Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    for (const auto& [expected, answer] : script) {
      std::string text(expected.size(), '?');
      EXPECT_EQ(::recv(client.get(), text.data(), text.size(), MSG_WAITALL),
                static_cast<ssize_t>(text.size()));
      EXPECT_EQ(text, expected);
      EXPECT_EQ(write_all(client.get(), answer.data(), answer.size()), answer.size());
    }
  }

  const Fd listener_;
  int port_ = 0;
  std::thread thread_;
};

// little-endian, like all machines that bp supports
const std::string kHello = "\0\xce\xf7\x85\x3c"s;
const std::string kKey = "\x0c\0\0\0\0\0\0\0bp/r.0/store"s;
const std::string kWait = "\6\1\0\0\0\0\0\0\0"s + kKey;
const std::string kEndpoint = concat("10.0.0.1:4711/", std::string(64, 'a'));
const std::string kValue = "\x4e\0\0\0\0\0\0\0"s + kEndpoint;

TEST(TorchrunRendezvous, SetsChecksAndDeletes) {
  const ScriptedStore store({{kHello + "\1" + kKey + kValue + kWait, "\0"s}, {"\x08" + kKey, ""}});
  const auto rendezvous = store.rendezvous();
  rendezvous->publish(parse_endpoint(kEndpoint), Deadline(20s));
  rendezvous->withdraw();
}

TEST(TorchrunRendezvous, WaitsAndGets) {
  const ScriptedStore store({{kHello + kWait, "\0"s}, {"\3" + kKey, kValue}});
  const StoreEndpoint endpoint = store.rendezvous()->look_up(Deadline(20s));
  EXPECT_EQ(to_text(endpoint), kEndpoint);
}

TEST(TorchrunRendezvous, ErrorsNameTheStore) {
  const auto refusal = [](const ScriptedStore& store) {
    try {
      (void)store.rendezvous()->look_up(Deadline(20s));
      return "no error"s;
    } catch (const Error& error) {
      return concat(name_of(error.code()), ": ", error.what());
    }
  };
  EXPECT_THAT(refusal(ScriptedStore({{kHello + kWait, "\1"s}})),
              AllOf(StartsWith("io: TORCHELASTIC_RUN_ID=r: torchrun's store at 127.0.0.1:"),
                    HasSubstr("the wait was cancelled")));
  EXPECT_THAT(refusal(ScriptedStore({{kHello + kWait, ""}})), HasSubstr("did it start?"));
  const std::string long_value = "\0\0\0\0\1\0\0\0"s;
  EXPECT_THAT(refusal(ScriptedStore({{kHello + kWait, "\0"s}, {"\3" + kKey, long_value}})),
              HasSubstr("a value of 4294967296 bytes"));
}

}  // namespace
}  // namespace bp
