// bprun --join at a port where another program or another release of bprun answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <list>

#include "base/text.h"
#include "comm/store/handshake.h"
#include "launcher/agent/join_key.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"
#include "tests/unit/store_raw_peer.h"

namespace bp::test {
namespace {

class JoinElsewhereTest : public testing::Test {
 protected:
  JoinElsewhereTest() {
    ::chmod(scratch_.write("key", "a secret that both know").c_str(), 0600);
    port_.listen();
  }

  [[nodiscard]] BprunProcess join(const StoreAddress& server,
                                  const std::string& start_timeout = "30s") const {
    return BprunProcess({{"--join", server.text(), "--start-timeout", start_timeout},
                         "",
                         {"BP_JOB_KEY_FILE=" + scratch_.path("key")}});
  }
  // Returns the error of bprun --join if the server answers its hello with `answer`.
  [[nodiscard]] std::string error_after_answer(const std::string& answer) const {
    BprunProcess machine = join(port_.address());
    RawPeer server = port_.accept();
    EXPECT_TRUE(server.receive_handshake());
    server.send(answer);
    EXPECT_EQ(machine.finish(), 2);
    return machine.first_error_line();
  }
  [[nodiscard]] JobKey key() const {
    ::setenv("BP_JOB_KEY_FILE", scratch_.path("key").c_str(), 1);
    const JobKey key = launcher::read_join_key();
    ::unsetenv("BP_JOB_KEY_FILE");
    return key;
  }
  [[nodiscard]] std::string refusal(const std::string& why) const {
    return concat("bprun: cannot join ", port_.address().text(), ": ", why);
  }

  const Scratch scratch_;
  const BoundPort port_;
};

TEST_F(JoinElsewhereTest, AServerWithMoreSlotsThanRanksIsRefused) {
  BprunProcess server({{"--serve", "0", "-n", "2", "--slots", "3", "true"},
                       "",
                       {"BP_JOB_KEY_FILE=" + scratch_.path("key")}});
  EXPECT_EQ(server.finish(), 2);
  EXPECT_THAT(server.first_error_line(),
              testing::MatchesRegex("bprun: .* has 3 slots, but -n is 2"));
}

TEST_F(JoinElsewhereTest, AServerOfAnotherVersionIsNamed) {
  EXPECT_EQ(error_after_answer(plain_frame(
                encode_handshake({.op = StoreOp::refusal, .number = 1}, kStoreVersion + 1))),
            refusal("it has another version of bp"));
  EXPECT_EQ(
      error_after_answer(plain_frame(encode_handshake({.op = StoreOp::refusal, .number = 1}))),
      refusal("it has another version of bp"));
}

TEST_F(JoinElsewhereTest, AnotherProgramIsRefused) {
  for (const char* answer : {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    EXPECT_EQ(error_after_answer(answer),
              refusal("the program that answers there is not bprun --serve"));
  }
  EXPECT_EQ(error_after_answer(
                plain_frame(encode_handshake({.op = StoreOp::challenge, .strings = {"", ""}}))),
            refusal("the program that answers there is not bprun --serve"));
}

TEST_F(JoinElsewhereTest, TheStoreOfAJobIsRefused) {
  const StoreServer store({.bind_address = "127.0.0.1", .job = "job-1"}, [](const auto&) {});
  BprunProcess guest = join(store.address());
  EXPECT_EQ(guest.finish(), 2);
  EXPECT_EQ(guest.first_error_line(),
            concat("bprun: cannot join ", store.address().text(),
                   ": the program that answers there is not bprun --serve"));
}

// A server that strangers flood closes the oldest connections, perhaps one with a proof on its way.
TEST_F(JoinElsewhereTest, AServerThatHangsUpAfterTheProofIsTriedAgain) {
  BprunProcess machine = join(port_.address(), "10s");
  ServerHandshake handshake(key(), launcher::kJoinHandshake);
  RawPeer server = port_.accept();
  const FrameLimits limits{.body = kMaxHandshakeBody, .mac = 0};
  const std::string hello = server.receive_frame(limits).value_or("");
  server.send(handshake.take_hello(std::string_view(hello).substr(kFrameHeader)).frame);
  const std::string proof = server.receive_frame(limits).value_or("");
  EXPECT_EQ(handshake.take_proof(std::string_view(proof).substr(kFrameHeader)).problem, "");
  server.hang_up();
  EXPECT_TRUE(port_.accept().receive_handshake());
}

TEST_F(JoinElsewhereTest, StrangersThatSayNothingLeaveRoomForAMachineThatHasSaidHello) {
  BprunProcess server(
      {{"--serve", "0", "-n", "2", "true"}, "", {"BP_JOB_KEY_FILE=" + scratch_.path("key")}});
  ASSERT_TRUE(server.wait_for("; on each other machine")) << server.err();
  const StoreAddress address{"127.0.0.1",
                             std::stoi(server.err().substr(server.err().find("port ") + 5))};
  ClientHandshake handshake(key(), launcher::kJoinHandshake, -1);
  RawPeer machine(address);
  machine.send(handshake.hello());
  const auto challenge = machine.receive_handshake();
  ASSERT_TRUE(challenge);
  std::list<RawPeer> strangers;
  while (strangers.size() < 300) strangers.emplace_back(address);
  ASSERT_TRUE(server.wait_for("before too many others connected")) << server.err();
  machine.send(handshake.take_challenge(*challenge).frame);
  EXPECT_TRUE(machine.receive_frame({.body = kMaxStoreBody, .mac = kFrameMac}));
}

// bprun connects again after the server hangs up, and gets no answer.
TEST_F(JoinElsewhereTest, AServerThatHangsUpIsRetriedUntilTheDeadline) {
  BprunProcess machine = join(port_.address(), "1s");
  EXPECT_TRUE(port_.accept().receive_handshake());
  EXPECT_EQ(machine.finish(), 75);
  EXPECT_EQ(machine.first_error_line(),
            concat("bprun: no bprun --serve has answered at ", port_.address().text(),
                   " within 1.0 s (--start-timeout): no answer; is it running, and has its job not "
                   "begun without this machine?"));
}

}  // namespace
}  // namespace bp::test
