#include "launcher/protocol/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <string>
#include <variant>

#include "bp/error.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {
namespace {

using testing::HasSubstr;

// Every byte that an argument or a variable may hold, which is every byte except NUL.
std::string every_byte() {
  std::string text;
  for (int byte = 1; byte < 256; ++byte) {
    text += static_cast<char>(byte);
  }
  return text;
}

std::string frame_of(std::uint8_t type, std::string_view content) {
  FrameWriter frame(type);
  for (const char byte : content) {
    frame.content()(static_cast<std::uint8_t>(byte));
  }
  return frame.take();
}

// Decodes the only message of a stream.
template <class Decode>
auto decode_only(Decode decode, const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  const auto frame = reader.next();
  EXPECT_TRUE(frame);
  EXPECT_FALSE(reader.next());
  return decode(frame.value());
}

std::string content_of(const std::string& bytes) {
  return decode_only([](const Frame& frame) { return std::string(frame.content); }, bytes);
}

template <class Message>
Message to_agent(const Message& message) {
  return std::get<Message>(decode_only(decode_to_agent, encode(ToAgent(message))));
}

template <class Message>
Message to_launcher(const Message& message) {
  return std::get<Message>(decode_only(decode_to_launcher, encode(ToLauncher(message))));
}

TEST(Frame, IsReadFromSlicesOfAnySize) {
  const std::string bytes = frame_of(3, "hello") + frame_of(4, "") + frame_of(5, every_byte());
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    FrameReader reader;
    std::string seen;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      while (const auto frame = reader.next()) {
        seen += frame_of(frame->type, frame->content);
      }
    }
    EXPECT_EQ(seen, bytes) << "in slices of " << step << " bytes";
  }
}

TEST(Frame, RefusesALengthOverTheLimitBeforeTheContentArrives) {
  FrameReader reader;
  reader.feed(std::string("\x01\x00\x00\x02\x07", 5));  // 32 MiB and one byte
  try {
    (void)reader.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_THAT(error.what(), HasSubstr("a frame of 33554433 bytes, at most 33554432 are allowed"));
  }
}

TEST(Messages, AJobKeepsEveryByte) {
  JobSpec spec;
  spec.job = "j";
  for (std::size_t i = 0; i < spec.key.size(); ++i) {
    spec.key[i] = static_cast<unsigned char>(250 + i);
  }
  spec.argv = {every_byte(), "", " ", "a b", "\n", "'\"$`\\"};
  spec.directory = "/a folder";
  spec.umask = 077;
  spec.ignored_signals = {1, 2};
  spec.limits = {{RLIMIT_CORE, 0x123456789abcdef0}, {RLIMIT_AS, RLIM_INFINITY}};
  spec.whole_environment = true;
  spec.environment = {"A=" + every_byte(), "B=", "C", "D=x=y"};
  spec.defaults = {"OMP_NUM_THREADS=2"};
  spec.ranks = {{3, {"RANK=3"}}, {4, {}}};
  spec.host = 5;
  spec.store = {"10.0.0.9", 4711};
  const JobSpec got = to_agent(spec);
  EXPECT_EQ(got.job, spec.job);
  EXPECT_EQ(got.key, spec.key);
  EXPECT_EQ(got.argv, spec.argv);
  EXPECT_EQ(got.directory, spec.directory);
  EXPECT_EQ(got.umask, spec.umask);
  EXPECT_EQ(got.limits, spec.limits);
  EXPECT_EQ(got.ignored_signals, spec.ignored_signals);
  EXPECT_TRUE(got.whole_environment);
  EXPECT_EQ(got.environment, spec.environment);
  EXPECT_EQ(got.defaults, spec.defaults);
  ASSERT_EQ(got.ranks.size(), 2U);
  EXPECT_EQ(got.ranks[0].rank, 3);
  EXPECT_EQ(got.ranks[0].environment, spec.ranks[0].environment);
  EXPECT_EQ(got.host, 5);
  EXPECT_EQ(got.store.text(), "10.0.0.9:4711");
}

TEST(Messages, AllOthersRoundTrip) {
  EXPECT_EQ(to_agent(Heartbeat{30'000, 4'000}).lost_after_ms, 30'000U);
  EXPECT_EQ(to_agent(Heartbeat{30'000, 4'000}).silent_ms, 4'000U);
  EXPECT_EQ(to_agent(SignalRanks{10}).signal, 10);
  EXPECT_EQ(to_agent(StopRanks{15, 30'000}).grace_ms, 30'000U);
  EXPECT_EQ(to_agent(StdinData{std::string("a\0b", 3)}).data, std::string("a\0b", 3));
  EXPECT_EQ(to_agent(OutputTaken{65'536}).bytes, 65'536U);
  EXPECT_TRUE(to_agent(Suspend{true}).on);
  EXPECT_EQ(to_agent(End{75, "lost"}).exit_code, 75);
  EXPECT_EQ(to_agent(End{75, "lost"}).text, "lost");
  EXPECT_EQ(to_launcher(AskStop{2}).signal, 2);
  const Join join = to_launcher(Join{3, -1, 6, {"prog", "a b"}, "least:2"});
  EXPECT_EQ(join.slots, 3);
  EXPECT_EQ(join.first_rank, -1);
  EXPECT_EQ(join.world, 6);
  EXPECT_THAT(join.argv, testing::ElementsAre("prog", "a b"));
  EXPECT_EQ(join.gpus, "least:2");
  EXPECT_EQ(to_launcher(Leaving{"was told", true}).why, "was told");
  EXPECT_TRUE(to_launcher(Leaving{"was told", true}).bprun_silent);
  EXPECT_EQ(to_launcher(StartFailed{-1, 127, "no"}).rank, -1);
  EXPECT_EQ(to_launcher(Started{2, 4711}).pid, 4711);
  EXPECT_EQ(to_launcher(Output{1, Stream::err, "x"}).stream, Stream::err);
  EXPECT_EQ(to_launcher(Exited{1, 139, ""}).status, 139);
  EXPECT_EQ(to_launcher(Exited{1, 9, "memory"}).cause, "memory");
  EXPECT_EQ(to_launcher(StdinTaken{7}).bytes, 7U);
  EXPECT_EQ(to_launcher(Done{3}).leftovers, 3);
  Hello hello;
  hello.version = "1.2";
  hello.build = "ab";
  hello.host_name = "h";
  hello.machine = "m";
  hello.cores = 12;
  hello.free_port = 4000;
  hello.client_address = "10.0.0.1";
  hello.server_address = "10.0.0.2";
  hello.public_key = "k";
  hello.credential = "MUNGE:x";
  const Hello got = to_launcher(hello);
  EXPECT_EQ(got.version + got.build + got.host_name + got.machine, "1.2abhm");
  EXPECT_EQ(got.cores, 12);
  EXPECT_EQ(got.free_port, 4000);
  EXPECT_EQ(got.client_address + got.server_address, "10.0.0.110.0.0.2");
  EXPECT_EQ(got.public_key + got.credential, "kMUNGE:x");
}

TEST(Messages, RefuseUnknownTypesAndExtraBytes) {
  EXPECT_THROW((void)decode_to_agent({200, ""}), Error);
  EXPECT_THROW((void)decode_to_launcher({200, ""}), Error);
  EXPECT_THROW((void)decode_to_agent({2, "x"}), Error) << "Go has no content";
}

TEST(Messages, ErrorsSayWhatIsWrong) {
  const auto error_of = [](std::uint8_t type, const std::string& content) -> std::string {
    try {
      (void)decode_to_agent({type, content});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      return error.what();
    }
    return "no error";
  };
  const std::string no_name(4, '\0');
  const std::string key = std::string("\x20\0\0\0", 4) + std::string(32, 'k');
  EXPECT_EQ(error_of(200, ""),
            "bprun and its agent do not understand each other: a message of type 200");
  EXPECT_EQ(error_of(2, "x"), "a message between bprun and its agent has 1 bytes too many");
  EXPECT_EQ(error_of(3, "ab"),
            "a message between bprun and its agent is cut off: 4 bytes wanted, 2 left");
  EXPECT_EQ(error_of(1, no_name + std::string("\5\0\0\0short", 9)), "a job key of 5 bytes");
  EXPECT_EQ(error_of(1, no_name + key + "\xff\xff\xff\xff"),
            "a message between bprun and its agent claims 4294967295 entries in 0 bytes");
  JobSpec idle;
  idle.ranks = {{0, {}}};
  EXPECT_EQ(error_of(1, content_of(encode(ToAgent(idle)))),
            "a job without a program or without ranks");
}

// Decoding any bytes gives a message or an io error, and never allocates memory for entries that a
// count only claims.
TEST(Messages, SurviveAnyContent) {
  std::mt19937 random(7);
  const std::string good = content_of(
      encode(ToAgent(JobSpec{"j", {}, {"a"}, "/", 0, {}, false, {"A=1"}, {}, {{0, {}}}, {}})));
  for (int round = 0; round < 20'000; ++round) {
    const auto type = static_cast<std::uint8_t>(random() % 10);
    std::string content = round % 2 == 0 ? good : "";
    for (int change = 0; change < 4 && !content.empty(); ++change) {
      content[random() % content.size()] = static_cast<char>(random());
    }
    content.resize(random() % (good.size() + 8));
    const Frame frame{type, content};
    for (const auto decode : {+[](const Frame& f) { (void)decode_to_agent(f); },
                              +[](const Frame& f) { (void)decode_to_launcher(f); }}) {
      try {
        decode(frame);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::io);
      }
    }
  }
}

}  // namespace
}  // namespace bp::launcher
