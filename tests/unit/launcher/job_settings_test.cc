#include "launcher/plan/job_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "launcher/hosts/host_entry.h"

namespace bp::launcher {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A job of two ranks on this machine and one on another.
struct JobSettingsTest : testing::Test {
  JobSettingsTest() {
    plan.placement = place_ranks(parse_host_list("localhost:2,far"), std::nullopt);
    plan.hosts.resize(2);
    plan.hosts[1].local = false;
    hosts.hellos.resize(2);
    hosts.hellos[0].machine = "here";
    hosts.hellos[0].cores = 8;
    hosts.hellos[0].free_port = 4711;
    hosts.hellos[1].machine = "there";
    hosts.hellos[1].cores = 2;
    hosts.hellos[1].client_address = "10.0.0.1";
    options.program = {"train", "data"};
    settings.job = "j";
    settings.key.fill(7);
    settings.store = {"10.0.0.1", 99};
  }
  [[nodiscard]] std::vector<JobSpec> specs() const {
    return make_job_specs(hosts, options, settings);
  }

  JobPlan plan;
  KnownHosts hosts{.plan = plan, .hellos = {}, .addresses = {"", "", ""}};
  Options options;
  JobSettings settings;
};

TEST_F(JobSettingsTest, GivesEachHostItsRanksAndItsShareOfTheCores) {
  const auto specs = this->specs();
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_THAT(specs[0].argv, ElementsAre("train", "data"));
  EXPECT_THAT(specs[0].defaults, ElementsAre("OMP_NUM_THREADS=4"));
  EXPECT_THAT(specs[1].defaults, ElementsAre("OMP_NUM_THREADS=2"));
  ASSERT_EQ(specs[0].ranks.size(), 2U);
  ASSERT_EQ(specs[1].ranks.size(), 1U);
  EXPECT_THAT(specs[1].ranks[0].environment, Contains("RANK=2"));
  EXPECT_THAT(specs[1].ranks[0].environment, Contains("MASTER_PORT=4711"));
  EXPECT_THAT(specs[1].ranks[0].environment, Contains("MASTER_ADDR=10.0.0.1"));
}

TEST_F(JobSettingsTest, GivesOnlyRankZeroTheWidthOfTheTerminal) {
  settings.live_columns = 72;
  const auto specs = this->specs();
  EXPECT_THAT(specs[0].ranks[0].environment, Contains(HasSubstr("=72")));
  EXPECT_THAT(specs[0].ranks[1].environment, Not(Contains(HasSubstr("=72"))));
  EXPECT_THAT(specs[1].ranks[0].environment, Not(Contains(HasSubstr("=72"))));
}

TEST_F(JobSettingsTest, GivesNoKeyFolderOrLimitsToAJoinedHost) {
  plan.hosts[1].joined = true;
  const auto specs = this->specs();
  EXPECT_EQ(specs[0].key, settings.key);
  EXPECT_EQ(specs[0].directory, std::filesystem::current_path().string());
  EXPECT_EQ(specs[1].key, JobKey{});
  EXPECT_THAT(specs[1].directory, IsEmpty());
  EXPECT_THAT(specs[1].limits, IsEmpty());
}

TEST_F(JobSettingsTest, MakesFoldersAbsolute) {
  options.trace = "traces";
  const std::string folder = (std::filesystem::current_path() / "traces").string();
  for (const JobSpec& spec : specs()) {
    EXPECT_THAT(spec.environment, Contains("BP_TRACE=" + folder));
  }
}

TEST_F(JobSettingsTest, PrefersTheProbedAddressToThatOfTheSshConnection) {
  EXPECT_EQ(address_of_launcher(hosts, ""), "10.0.0.1");
  hosts.addresses = {"192.168.0.1", "192.168.0.2", "192.168.0.1"};
  EXPECT_EQ(address_of_launcher(hosts, ""), "192.168.0.1");
  EXPECT_THAT(specs()[1].defaults, Contains("BP_INTERFACE=192.168.0.2"));
  EXPECT_THAT(specs()[1].ranks[0].environment, Contains("MASTER_ADDR=192.168.0.1"));
}

}  // namespace
}  // namespace bp::launcher
