#include "launcher/hosts/host_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/rank_list.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;

constexpr const char* kWorkers = "worker-0:4,worker-1:4";

// "worker-0:0,2,3" for a host with chosen slots, "worker-0:x4" for one with all four.
std::vector<std::string> selected(const char* hosts, const HostSelection& selection) {
  std::vector<std::string> texts;
  for (const Host& host : select_hosts(parse_host_list(hosts), selection)) {
    EXPECT_TRUE(!host.gpus || host.capacity() == static_cast<int>(host.gpus->size()));
    texts.push_back(host.gpus ? concat(host.name, ":", rank_ranges(*host.gpus))
                              : concat(host.name, ":x", host.capacity()));
  }
  return texts;
}

std::vector<std::string> included(const char* text, const char* hosts = kWorkers) {
  return selected(hosts, {.include = text, .exclude = {}});
}

std::vector<std::string> excluded(const char* text, const char* hosts = kWorkers) {
  return selected(hosts, {.include = {}, .exclude = text});
}

TEST(HostSelection, WithoutItAllHostsStay) {
  EXPECT_THAT(selected(kWorkers, {}), ElementsAre("worker-0:x4", "worker-1:x4"));
}

TEST(HostSelection, IncludesHostsAndSlots) {
  EXPECT_THAT(included("worker-1"), ElementsAre("worker-1:x4"));
  EXPECT_THAT(included("worker-1:1"), ElementsAre("worker-1:1"));
  EXPECT_THAT(included("worker-1:0,2-3,worker-0"), ElementsAre("worker-0:x4", "worker-1:0,2,3"));
  EXPECT_THAT(included("worker-0@worker-1:0,2"), ElementsAre("worker-0:x4", "worker-1:0,2"));
  EXPECT_THAT(included("worker-[0-1]:3"), ElementsAre("worker-0:3", "worker-1:3"));
  EXPECT_THAT(included("[::1]:1", "[::1]:2,b"), ElementsAre("::1:1"));
}

// docs/acceptance.md, Launcher: `--include` and `--exclude` choose hosts and slots.
TEST(HostSelection, ExcludesHostsAndSlots) {
  EXPECT_THAT(excluded("worker-0:1"), ElementsAre("worker-0:0,2,3", "worker-1:x4"));
  EXPECT_THAT(excluded("worker-0"), ElementsAre("worker-1:x4"));
  EXPECT_THAT(excluded("worker-0:0-3"), ElementsAre("worker-1:x4"));
  EXPECT_THAT(excluded("worker-1:0,worker-0:3"), ElementsAre("worker-0:0-2", "worker-1:1-3"));
}

TEST(HostSelection, CountsOnceWhatIsNamedTwice) {
  EXPECT_THAT(included("worker-1:1,1,worker-1:1"), ElementsAre("worker-1:1"));
  EXPECT_THAT(included("worker-1:1,worker-1:0"), ElementsAre("worker-1:0,1"));
  EXPECT_THAT(included("worker-1:1,worker-1"), ElementsAre("worker-1:x4"));
  EXPECT_THAT(excluded("worker-1,worker-1"), ElementsAre("worker-0:x4"));
}

TEST(HostSelection, NumbersSlotsByTheirGpus) {
  EXPECT_THAT(included("a:2,7", "a:gpus=[0,2,7]"), ElementsAre("a:2,7"));
  EXPECT_THAT(excluded("a:1", "a:2:gpus=[0,2,7]"), ElementsAre("a:0"));
}

TEST(HostSelection, LimitsAHostToTheChosenSlots) {
  const Hosts hosts = select_hosts(parse_host_list("a:4:max_slots=8"), {{"a:0,1"}, {}});
  EXPECT_EQ(hosts.front().slots, 2);
  EXPECT_FALSE(hosts.front().max_slots);
}

TEST(HostSelection, RefusesUnknownHostsAndSlots) {
  const auto error = [](const HostSelection& selection) -> std::string {
    try {
      (void)select_hosts(parse_host_list(kWorkers), selection);
    } catch (const Error& problem) {
      EXPECT_EQ(problem.code(), ErrorCode::invalid_argument);
      return problem.what();
    }
    return "no error";
  };
  const auto include = [&](const char* text) { return error({.include = text, .exclude = {}}); };
  EXPECT_EQ(include("worker-7"), "--include: there is no host worker-7; did you mean worker-0?");
  EXPECT_EQ(include("login"),
            "--include: there is no host login; the hosts are worker-0, worker-1");
  EXPECT_EQ(include("worker-0:4"), "--include: worker-0 has no slot 4; it has 0-3");
  EXPECT_EQ(include("worker-0:"), "--include: each slot must be a number from 0 to 4095, not ''");
  EXPECT_EQ(include(""), "--include: '' is not a host name or address");
  EXPECT_EQ(include("worker-[0"), "--include: a bracket is not closed in 'worker-[0'");
  EXPECT_EQ(error({.include = {}, .exclude = "worker-0,worker-1"}), "--exclude: no host is left");
  EXPECT_EQ(error({.include = "worker-0", .exclude = "worker-1"}),
            "--include: give only one of --include and --exclude");
}

}  // namespace
}  // namespace bp::launcher
