// Tests how the ranks of a launcher find the store: each channel by itself, with a stand-in for the
// launcher.
// docs/acceptance.md, Other engines: Ranks find the store through each channel of an engine.
// docs/features.md, Launching: A rendezvous by address or by file, with any free port | `--serve`
// and `--join` by address; ranks that an engine or you start also by a file (`BP_SHARED_FOLDER`)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/rendezvous/hosts.h"
#include "comm/rendezvous/store_rendezvous.h"
#include "tests/support/refusal.h"
#include "tests/support/scratch.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Map = Variables::Map;

const Deadline kSoon(20s);

StoreEndpoint an_endpoint() {
  StoreEndpoint endpoint{{"10.0.0.1", 4711}, {}};
  endpoint.key[0] = 0x0f;
  endpoint.key[31] = 0xa0;
  return endpoint;
}

class StoreRendezvousTest : public testing::Test {
 protected:
  const Scratch folder_;
  const LaunchedRank rank_{.launcher = "openmpi", .found_by = "X=1", .size = 2, .job = "7/3"};
};

TEST(StoreEndpoint, IsALineWithoutBlanks) {
  const std::string text = to_text(an_endpoint());
  EXPECT_THAT(text, AllOf(StartsWith("10.0.0.1:4711/0f00"), Not(HasSubstr(" "))));
  const StoreEndpoint back = parse_endpoint(text);
  EXPECT_EQ(back.store.text(), "10.0.0.1:4711");
  EXPECT_EQ(back.key, an_endpoint().key);
  EXPECT_EQ(parse_endpoint(to_text(StoreEndpoint{{"::1", 80}, {}})).store.host, "::1");
}

TEST(StoreEndpoint, ThatIsBrokenIsRefusedWithoutShowingTheKey) {
  const std::string text = to_text(an_endpoint());
  for (const std::string& broken : {std::string("10.0.0.1:4711"), text.substr(0, text.size() - 1),
                                    text + "0", text.substr(0, text.size() - 1) + "g"}) {
    EXPECT_THAT(test::error_of([&] { (void)parse_endpoint(broken); }),
                AllOf(StartsWith("invalid_argument: "), Not(HasSubstr("0f00"))));
  }
  EXPECT_THAT(test::error_of([&] { (void)parse_endpoint("x" + text.substr(text.find('/'))); }),
              StartsWith("invalid_argument: is not host:port"));
}

TEST_F(StoreRendezvousTest, FileHoldsTheEndpointUntilWithdrawn) {
  const Variables variables(Map{{"BP_SHARED_FOLDER", folder_.path()}});
  const auto first = choose_rendezvous(rank_, variables);
  const auto other = choose_rendezvous(rank_, variables);
  std::thread later([&] { first->publish(an_endpoint(), kSoon); });
  EXPECT_EQ(other->look_up(kSoon).key, an_endpoint().key);
  later.join();
  const fs::path file = folder_.path("bp-openmpi-7-3-");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_THAT(
      test::error_of([&] { choose_rendezvous(rank_, variables)->publish(an_endpoint(), kSoon); }),
      HasSubstr("another job uses this file now"));
  first->withdraw();
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(StoreRendezvousTest, FileOfAnEarlierJobIsIgnored) {
  folder_.write("bp-openmpi-7-3-", to_text(an_endpoint()));
  const Variables variables(Map{{"BP_SHARED_FOLDER", folder_.path()}});
  EXPECT_THAT(
      test::error_of([&] { (void)choose_rendezvous(rank_, variables)->look_up(Deadline(30ms)); }),
      AllOf(StartsWith("timeout: rendezvous at "), HasSubstr("rank 0 has not written")));
  const auto first = choose_rendezvous(rank_, variables);
  first->publish({{"10.0.0.2", 1}, {}}, kSoon);
  EXPECT_EQ(choose_rendezvous(rank_, variables)->look_up(kSoon).store.host, "10.0.0.2");
}

// Another user can make one in a folder that all can write.
TEST_F(StoreRendezvousTest, FifoInPlaceOfTheFileBlocksNoRank) {
  ASSERT_EQ(::mkfifo(folder_.path("bp-openmpi-7-3-").c_str(), 0666), 0);
  const Variables variables(Map{{"BP_SHARED_FOLDER", folder_.path()}});
  EXPECT_THAT(
      test::error_of([&] { (void)choose_rendezvous(rank_, variables)->look_up(Deadline(30ms)); }),
      HasSubstr("rank 0 has not written"));
  const auto first = choose_rendezvous(rank_, variables);
  first->publish(an_endpoint(), kSoon);
  EXPECT_EQ(choose_rendezvous(rank_, variables)->look_up(kSoon).key, an_endpoint().key);
}

TEST_F(StoreRendezvousTest, MissingFolderIsNamed) {
  const Variables variables(Map{{"BP_SHARED_FOLDER", folder_.path("no")}});
  EXPECT_THAT(
      test::error_of([&] { choose_rendezvous(rank_, variables)->publish(an_endpoint(), kSoon); }),
      AllOf(StartsWith(concat("io: rendezvous at ", folder_.path("no"), "/bp-openmpi-7-3-")),
            HasSubstr("No such file")));
}

// Sets TMPDIR until it is destroyed.
class TemporaryFolderVariable {
 public:
  explicit TemporaryFolderVariable(const std::string& place) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", place.c_str(), 1);
  }
  ~TemporaryFolderVariable() {
    before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR");
  }
  TemporaryFolderVariable(const TemporaryFolderVariable&) = delete;
  TemporaryFolderVariable& operator=(const TemporaryFolderVariable&) = delete;

 private:
  std::optional<std::string> before_;
};

// No other user may be able to write the folder in which the ranks of one host meet.
TEST_F(StoreRendezvousTest, FolderThatOtherUsersCanWriteIsRefused) {
  LaunchedRank here = rank_;
  here.one_host = true;
  const auto meet = [&] { (void)choose_rendezvous(here, Variables(Map{})); };
  const TemporaryFolderVariable place(folder_.path());
  const std::string own = folder_.path(concat("bp-", ::getuid()));
  const std::string text =
      concat("io: rendezvous at ", own, ": is not a folder with mode 0700; remove it");
  EXPECT_EQ(test::error_of(meet), "no error");
  ::chmod(own.c_str(), 0770);
  EXPECT_EQ(test::error_of(meet), text);
  fs::remove(own);
  std::ofstream(own) << "a file";
  EXPECT_EQ(test::error_of(meet), text);
  constexpr uid_t kNobody = 65534;
  if (::chown(own.c_str(), kNobody, kNobody) == 0) {
    EXPECT_EQ(
        test::error_of(meet),
        concat("io: rendezvous at ", own,
               ": belongs to another user; set TMPDIR to a folder in which only you can write"));
  }
}

TEST_F(StoreRendezvousTest, MissingTemporaryFolderIsNamed) {
  LaunchedRank here = rank_;
  here.one_host = true;
  {
    const TemporaryFolderVariable fixed("/proc");
    EXPECT_EQ(test::error_of([&] { (void)choose_rendezvous(here, Variables(Map{})); }),
              concat("io: rendezvous at /proc/bp-", ::getuid(),
                     ": No such file or directory; set TMPDIR to a folder in which you can write"));
  }
  const TemporaryFolderVariable place(folder_.path("no"));
  EXPECT_THAT(test::error_of([&] { (void)choose_rendezvous(here, Variables(Map{})); }),
              AllOf(StartsWith("io: rendezvous at TMPDIR: names no folder ("),
                    HasSubstr("); set it to one")));
}

TEST_F(StoreRendezvousTest, KeyFileAndMasterNeedNoChannel) {
  const std::string path = folder_.write("key", "a secret of enough bytes");
  ::chmod(path.c_str(), 0600);
  LaunchedRank rank = rank_;
  rank.master_host = "10.0.0.9";
  rank.master_port = "29500";
  const Variables variables(Map{{"BP_JOB_KEY_FILE", folder_.path("key")}});
  const auto rendezvous = choose_rendezvous(rank, variables);
  const StoreEndpoint endpoint = rendezvous->look_up(kSoon);
  EXPECT_EQ(endpoint.store.text(), "10.0.0.9:29500");
  EXPECT_EQ(rendezvous->known().port, 29500);
  EXPECT_EQ(rendezvous->known().key, endpoint.key);
  rank.job = "7/4";
  EXPECT_NE(choose_rendezvous(rank, variables)->known().key, endpoint.key)
      << "each job must have a key of its own";
  EXPECT_THAT(test::error_of([&] { (void)choose_rendezvous(rank_, variables); }),
              StartsWith("invalid_argument: MASTER_ADDR is not set"));
  LaunchedRank wrong = rank;
  wrong.master_port = "none";
  EXPECT_THAT(test::error_of([&] { (void)choose_rendezvous(wrong, variables)->look_up(kSoon); }),
              StartsWith("invalid_argument: MASTER_ADDR and MASTER_PORT, 10.0.0.9:none: "));
  ::chmod(path.c_str(), 0640);
  EXPECT_THAT(test::error_of([&] { (void)choose_rendezvous(rank, variables); }),
              HasSubstr("key: the file can be read by others; chmod 600 "));
  ::chmod(path.c_str(), 0600);
  folder_.write("key", "short");
  EXPECT_THAT(test::error_of([&] { (void)choose_rendezvous(rank, variables); }),
              HasSubstr("key: the file holds 5 bytes; a secret needs at least 16"));
  EXPECT_THAT(test::error_of([&] {
                (void)choose_rendezvous(rank, Variables(Map{{"BP_JOB_KEY_FILE", "/no/key"}}));
              }),
              HasSubstr("BP_JOB_KEY_FILE=/no/key: the file cannot be read"));
}

TEST_F(StoreRendezvousTest, WithoutAnyChannelTheErrorListsThem) {
  EXPECT_THAT(test::error_of([&] { (void)choose_rendezvous(rank_, Variables(Map{})); }),
              AllOf(StartsWith("unavailable: X=1: the launcher openmpi started 2 ranks"),
                    HasSubstr("BP_SHARED_FOLDER"), HasSubstr("BP_JOB_KEY_FILE"),
                    HasSubstr("--mpi=pmi2"), HasSubstr("bprun")));
}

// Answers the lines of one rank as Hydra does.
class Pmi {
 public:
  explicit Pmi(std::vector<std::string> answers) {
    int pair[2] = {};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    server_end_ = Fd(pair[0]);
    rank_end_ = Fd(pair[1]);
    thread_ = std::thread([this, answers = std::move(answers)] {
      char line[2048];
      for (const std::string& answer : answers) {
        const ssize_t size = ::recv(server_end_.get(), line, sizeof(line), 0);
        if (size <= 0) return;
        asked_.append(line, static_cast<std::size_t>(size));
        (void)write_all(server_end_.get(), answer.data(), answer.size());
      }
      server_end_.reset();
    });
  }
  ~Pmi() {
    rank_end_.reset();
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] std::unique_ptr<StoreRendezvous> rendezvous() const {
    return choose_rendezvous(
        {.launcher = "mpich", .found_by = "MPI_LOCALRANKID=0", .size = 2},
        Variables(Map{{"PMI_FD", concat(rank_end_.get())}, {"PMI_RANK", "0"}}));
  }
  std::string asked() {
    thread_.join();
    return asked_;
  }

 private:
  Fd server_end_;
  Fd rank_end_;
  std::string asked_;
  std::thread thread_;
};

const std::string kInit = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
const std::string kSpace = "cmd=my_kvsname kvsname=kvs_1\n";

TEST(PmiRendezvous, PutsBehindABarrierAndEndsItsSession) {
  Pmi pmi({kInit, kSpace, "cmd=put_result rc=0 msg=success\n", "cmd=barrier_out\n",
           "cmd=finalize_ack\n"});
  pmi.rendezvous()->publish(an_endpoint(), kSoon);
  EXPECT_EQ(pmi.asked(), concat("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n",
                                "cmd=put kvsname=kvs_1 key=bp-store value=", to_text(an_endpoint()),
                                "\ncmd=barrier_in\ncmd=finalize\n"));
}

TEST(PmiRendezvous, GetsAfterTheBarrier) {
  Pmi pmi({kInit, kSpace, "cmd=barrier_out\n",
           concat("cmd=get_result rc=0 msg=success value=", to_text(an_endpoint()), "\n"),
           "cmd=finalize_ack\n"});
  EXPECT_EQ(pmi.rendezvous()->look_up(kSoon).key, an_endpoint().key);
}

TEST(PmiRendezvous, ErrorShowsTheAnswer) {
  Pmi pmi({kInit, kSpace, "cmd=put_result rc=-1 msg=duplicate_key\n"});
  EXPECT_THAT(test::error_of([&] { pmi.rendezvous()->publish(an_endpoint(), kSoon); }),
              AllOf(StartsWith("io: MPI_LOCALRANKID=0: PMI answers 'cmd=put_result rc=-1 msg="
                               "duplicate_key' to cmd=put"),
                    Not(HasSubstr("0f00"))));
}

TEST(PmiRendezvous, EndedAndSilentSessionsAreErrors) {
  Pmi ended({kInit});
  EXPECT_THAT(test::error_of([&] { (void)ended.rendezvous()->look_up(kSoon); }),
              AllOf(StartsWith("io: MPI_LOCALRANKID=0: cmd=get_my_kvsname on PMI_FD="),
                    HasSubstr("split() makes more")));
  Pmi silent({kInit, kSpace, "cmd=barrier", "never"});
  EXPECT_THAT(test::error_of([&] { (void)silent.rendezvous()->look_up(Deadline(30ms)); }),
              AllOf(StartsWith("timeout: "), HasSubstr(" on PMI_FD="), HasSubstr("no answer")));
}

TEST(Hosts, NeighboursOnOneHostAreItsRanks) {
  const HostIdentity a{"boot-1 4026 ", "ada"};
  const HostIdentity b{"boot-2 4026 ", "bert"};
  const Topology uneven = topology_of(3, std::array{a, a, a, b});
  EXPECT_EQ(uneven.rank, 3);
  EXPECT_THAT(uneven.local_sizes, ElementsAre(3, 1));
  EXPECT_THAT(uneven.host_names, ElementsAre("ada", "bert"));
  EXPECT_THAT(topology_of(0, std::array{a, b, a}).local_sizes, ElementsAre(1, 1, 1));
}

TEST(Hosts, EngineCanMakeTwoHostsOfOneMachine) {
  const HostIdentity one = own_host_identity("node1");
  EXPECT_NE(one.host, own_host_identity("node2").host);
  EXPECT_EQ(one.host, own_host_identity("node1").host);
  const HostIdentity back = parse_host_identity(to_text(one));
  EXPECT_EQ(back.host, one.host);
  EXPECT_EQ(back.name, one.name);
  EXPECT_FALSE(one.name.empty());
}

}  // namespace
}  // namespace bp
