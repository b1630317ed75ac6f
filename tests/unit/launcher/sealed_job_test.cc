#include "launcher/protocol/sealed_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <variant>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/frame.h"
#include "launcher/protocol/munge.h"
#include "tests/support/as_nobody.h"

namespace bp::launcher {
namespace {

JobSpec a_job() {
  JobSpec spec;
  spec.job = "j1";
  spec.key.fill(0x5a);
  spec.argv = {"prog", "secret argument"};
  spec.environment = {"TOKEN=s3cret"};
  spec.ranks = {{3, {"RANK=3"}}};
  return spec;
}

Hello hello_of(const JobReceiver& receiver) {
  Hello hello;
  hello.host_name = "h";
  receiver.introduce(hello);
  return hello;
}

// Returns what the call throws, or "".
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The frame of a job shows its key, arguments and variables to who reads the stream.
TEST(SealedJob, HidesTheJobFromAllButOneAgent) {
  const JobReceiver receiver;
  const SealedJob sealed = seal_job(a_job(), hello_of(receiver));
  const std::string frame = encode(ToAgent(sealed));
  EXPECT_EQ(frame.find("secret argument"), std::string::npos);
  EXPECT_EQ(frame.find("s3cret"), std::string::npos);
  EXPECT_EQ(frame.find(std::string(32, 0x5a)), std::string::npos);
  const JobSpec got = receiver.open(sealed);
  EXPECT_EQ(got.key, a_job().key);
  EXPECT_EQ(got.argv, a_job().argv);
  EXPECT_EQ(got.environment, a_job().environment);
  SealedJob altered = sealed;
  altered.text.back() = static_cast<char>(altered.text.back() ^ 1);
  for (const std::string& refusal : {refusal_of([&] { (void)receiver.open(altered); }),
                                     refusal_of([&] { (void)JobReceiver().open(sealed); })}) {
    EXPECT_THAT(refusal, testing::StartsWith("the job cannot be decrypted: "));
  }
}

// A daemon of munge for a process that has a /run of its own.
class Munged {
 public:
  Munged() { start(); }
  ~Munged() { stop(); }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;

  // From now on what others made before is by another key.
  void change_key() {
    stop();
    start();
  }

 private:
  static constexpr const char* kSocket = "/run/munge/munge.socket.2";
  void start() {
    ::mkdir("/run/munge", 0755);
    std::ofstream("/run/key") << ++keys_ << " and the thirty-two bytes that munged asks for";
    ::chmod("/run/key", 0600);
    daemon_ = ::fork();
    if (daemon_ == 0) {
      ::execlp("munged", "munged", "--foreground", "--force", "--key-file=/run/key",
               "--pid-file=/run/pid", "--log-file=/run/log", "--seed-file=/run/seed", nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 1000 && vouch_by_munge("x").empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  void stop() const {
    ::kill(daemon_, SIGTERM);
    ::waitpid(daemon_, nullptr, 0);
    ::unlink(kSocket);
  }

  pid_t daemon_ = -1;
  int keys_ = 0;
};

void refuse_what_munge_does_not_vouch_for() {
  Munged munged;
  ASSERT_NE(vouch_by_munge("x"), "") << "munged does not answer";
  const JobReceiver receiver;
  const Hello hello = hello_of(receiver);
  const SealedJob sealed = seal_job(a_job(), hello);
  EXPECT_EQ(receiver.open(sealed).argv, a_job().argv);
  const auto opened = [&](const JobReceiver& by, const SealedJob& job) {
    return refusal_of([&] { (void)by.open(job); });
  };
  const auto sealed_for = [](const Hello& agent) {
    return refusal_of([&] { (void)seal_job(a_job(), agent); });
  };
  constexpr auto kNoVouching = "munge does not vouch for the agent on h: ";
  constexpr auto kHint = "; does munged run there, with the same key?";

  EXPECT_EQ(opened(receiver, sealed), "the job cannot be decrypted: munge: Replayed credential");
  EXPECT_EQ(sealed_for(hello), concat(kNoVouching, "munge: Replayed credential", kHint));

  Hello without = hello_of(receiver);
  without.credential.clear();
  EXPECT_THAT(sealed_for(without), testing::StartsWith(concat(kNoVouching, "munge: ")));

  // A credential for another key.
  Hello exchanged = hello_of(receiver);
  exchanged.credential = hello_of(JobReceiver()).credential;
  EXPECT_EQ(sealed_for(exchanged), concat(kNoVouching, "munge vouches for another text", kHint));

  // Another user in between may name himself.
  ::mkdir("/run/others", 0777);
  ::chmod("/run/others", 0777);
  const std::string theirs = "/run/others/hello";
  as_nobody([&] {
    std::ofstream(theirs, std::ios::binary) << encode(ToLauncher(hello_of(JobReceiver())));
  });
  std::ifstream file(theirs, std::ios::binary);
  FrameReader reader;
  reader.feed(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_EQ(sealed_for(std::get<Hello>(decode_to_launcher(reader.next().value()))),
            concat(kNoVouching, "munge names the user 65534 and not 0", kHint));

  // What comes from bprun is checked in the same way.
  const JobReceiver second;
  EXPECT_EQ(opened(JobReceiver(), seal_job(a_job(), hello_of(second))),
            "the job cannot be decrypted: munge vouches for another text");
  const JobReceiver third;
  SealedJob bare = seal_job(a_job(), hello_of(third));
  bare.credential.clear();
  EXPECT_THAT(opened(third, bare), testing::StartsWith("the job cannot be decrypted: munge: "));

  const Hello by_the_old_key = hello_of(JobReceiver());
  munged.change_key();
  EXPECT_EQ(sealed_for(by_the_old_key), concat(kNoVouching, "munge: Invalid credential", kHint));
}

TEST(SealedJob, IsRefusedUnlessMungeVouchesForBothEnds) {
  if (std::system("munged --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "munged is not installed (Debian: slurmctld slurmd slurm-client munge)";
  }
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kForbidden = 77;
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/run", "tmpfs", 0, "mode=755") != 0) {
      ::_exit(kForbidden);
    }
    refuse_what_munge_does_not_vouch_for();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "this machine permits no mount namespaces";
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace bp::launcher
