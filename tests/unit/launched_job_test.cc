// Whole jobs of launchers, whose ranks are threads with environment variables of their own.
#include "comm/rendezvous/launched_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>
#include <vector>

#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/store.h"
#include "comm/rendezvous/store_host.h"
#include "comm/rendezvous/store_rendezvous.h"
#include "tests/support/scratch.h"

namespace bp {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LaunchedJobTest : public testing::Test {
 protected:
  // Returns the variables of a Slurm step of 3 ranks on two nodes.
  [[nodiscard]] Variables variables(int rank) const {
    return Variables(Variables::Map{{"BP_SHARED_FOLDER", folder_.path()},
                                    {"SLURM_JOB_ID", "5"},
                                    {"SLURM_STEP_ID", "0"},
                                    {"SLURM_PROCID", concat(rank)},
                                    {"SLURM_NTASKS", "3"},
                                    {"SLURM_STEP_NUM_NODES", "2"},
                                    {"SLURMD_NODENAME", rank < 2 ? "node1" : "node2"}});
  }

  const Scratch folder_;
};

TEST_F(LaunchedJobTest, RanksLearnWhatBprunProvides) {
  std::vector<LaunchedJob> jobs(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([this, rank, &job = jobs[static_cast<std::size_t>(rank)]] {
      CommunicatorOptions options;
      options.interface = "127.0.0.1";
      job = join_launched_job(variables(rank), options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(jobs[0].host);
  for (int rank = 0; rank < 3; ++rank) {
    const LaunchedJob& job = jobs[static_cast<std::size_t>(rank)];
    const Environment& environment = job.environment;
    EXPECT_EQ(environment.launcher, "slurm");
    EXPECT_EQ(environment.job, "5.0");
    EXPECT_EQ(environment.topology.rank, rank);
    EXPECT_THAT(environment.topology.local_sizes, ElementsAre(2, 1));
    EXPECT_EQ(environment.store->text(), jobs[0].host->address().text());
    EXPECT_EQ(environment.key, jobs[0].environment.key);
    EXPECT_EQ(job.host != nullptr, rank == 0);
  }
  EXPECT_TRUE(folder_.names().empty())
      << "the file must be gone, so that no other process finds the store";
}

TEST_F(LaunchedJobTest, RankZeroServesUntilTheOthersHaveLeft) {
  StoreHost host({.job = "j", .world_size = 2});
  const StoreClientOptions client{.address = host.address(), .job = "j", .rank = 1};
  auto store = connect_store(client);
  store->set("here", "");  // the answer comes after the server has counted this client
  EXPECT_FALSE(host.wait_until_left(10ms));
  store->goodbye();
  EXPECT_TRUE(host.wait_until_left(20s));
  store = connect_store(client);
  store->set("here", "");
  store.reset();  // the connection is lost
  EXPECT_TRUE(host.wait_until_left(20s));
}

TEST_F(LaunchedJobTest, AbsentRanksAreNamed) {
  CommunicatorOptions options;
  options.interface = "127.0.0.1";
  options.start_timeout = 1500ms;  // enough to connect on a busy machine
  try {
    (void)join_launched_job(variables(0), options);
    FAIL() << "rank 0 got a job without the other ranks";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("ranks 1, 2 of 3 did not connect to the job's store"),
                                    HasSubstr("did the launcher start all of them")));
  }
}

// docs/acceptance.md, Store: A rank at a wrong server is named, with what named the server.
TEST(LaunchedJob, ARankAtAWrongServerIsNamedAndWhatNamedTheServer) {
  const Scratch folder;
  const std::string key = folder.write("key", "a secret of this job");
  ASSERT_EQ(::chmod(key.c_str(), 0600), 0);
  Variables::Map map{{"BP_JOB_KEY_FILE", key},
                     {"RANK", "1"},
                     {"WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", "1"}};
  StoreServerOptions other{.job = find_launcher(Variables(map))->job, .world_size = 2};
  other.key = random_job_key();
  const StoreHost server(other);
  map["MASTER_PORT"] = concat(server.address().port);
  try {
    (void)join_launched_job(Variables(map), {});
    FAIL() << "it joined another job";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              concat("rank 1 cannot join the store ", server.address().text(),
                     ": it has another key than this process; MASTER_ADDR:MASTER_PORT and "
                     "BP_JOB_KEY_FILE are not of one job"));
  }
}

// What rank 0 of an earlier attempt has left, and what the next one publishes.
class Attempts final : public StoreRendezvous {
 public:
  Attempts(StoreEndpoint left, StoreEndpoint next, int looks)
      : left_(std::move(left)), next_(std::move(next)), looks_(looks) {}
  void publish(const StoreEndpoint&, const Deadline&) override {}
  StoreEndpoint look_up(const Deadline&) override { return looks_-- > 0 ? left_ : next_; }
  [[nodiscard]] bool may_be_stale() const override { return true; }

 private:
  StoreEndpoint left_;
  StoreEndpoint next_;
  int looks_;
};

TEST(FindStore, ADeadRankZeroIsNotTakenForTheNext) {
  const auto server_of = [](const char* job) {
    StoreServerOptions options{.job = job, .world_size = 2};
    options.key = random_job_key();
    return options;
  };
  const LaunchedRank rank{.rank = 1, .size = 2, .job = "j"};
  StoreServerOptions with = server_of("j");
  const StoreHost next(with);
  StoreEndpoint gone;
  gone.key = random_job_key();
  {
    const StoreHost earlier(server_of("j"));
    gone.store = earlier.address();
  }
  Attempts left_behind(gone, {next.address(), with.key}, 2);
  EXPECT_EQ(find_store(left_behind, rank, Deadline(20s)).endpoint.store.text(),
            next.address().text());
  // Another process may have its port by now.
  const StoreHost stranger(server_of("other"));
  Attempts taken({stranger.address(), gone.key}, {next.address(), with.key}, 2);
  EXPECT_EQ(find_store(taken, rank, Deadline(20s)).endpoint.store.text(), next.address().text());
  Attempts never(gone, gone, 0);
  EXPECT_THROW((void)find_store(never, rank, Deadline(700ms)), Error);
}

}  // namespace
}  // namespace bp
