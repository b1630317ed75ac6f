#include "launcher/hosts/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bp/error.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/machine.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;

std::vector<int> sizes(const Hosts& hosts, std::optional<int> ranks) {
  return local_sizes(place_ranks(hosts, ranks));
}

// docs/acceptance.md, Launcher: `-H a:3,b:1` numbers ranks host by host.
// docs/features.md, Launching: Hosts with different numbers of ranks | `bprun -H a:3,b:1`
TEST(Placement, NumbersRanksHostByHost) {
  const auto placement = place_ranks(parse_host_list("a:3,b:1"), std::nullopt);
  ASSERT_EQ(placement.size(), 2U);
  EXPECT_EQ(placement[0].first_rank, 0);
  EXPECT_EQ(placement[0].ranks, 3);
  EXPECT_EQ(placement[1].first_rank, 3);
  EXPECT_EQ(placement[1].ranks, 1);
  EXPECT_EQ(world_size(placement), 4);
  EXPECT_EQ(host_of_rank(placement, 2), 0U);
  EXPECT_EQ(host_of_rank(placement, 3), 1U);
}

// docs/acceptance.md, Launcher: Fewer ranks than slots fill the first hosts first.
TEST(Placement, FillsTheFirstHostsFirst) {
  EXPECT_THAT(sizes(parse_host_list("a:2,b:2"), 3), ElementsAre(2, 1));
  EXPECT_THAT(sizes(parse_host_list("a:2,b:2"), 2), ElementsAre(2)) << "b runs no rank";
  EXPECT_THAT(sizes(parse_host_list("a,b"), std::nullopt), ElementsAre(1, 1));
}

TEST(Placement, ExceedsTheSlotsUpToMaxSlots) {
  const Hosts hosts =
      parse_hostfile("a slots=1 max_slots=3\nb slots=2\nc slots=1 max_slots=2", "h");
  EXPECT_THAT(sizes(hosts, std::nullopt), ElementsAre(1, 2, 1));
  EXPECT_THAT(sizes(hosts, 5), ElementsAre(2, 2, 1));
  EXPECT_THAT(sizes(hosts, 7), ElementsAre(3, 2, 2));
  EXPECT_THROW((void)sizes(hosts, 8), Error);
}

// docs/acceptance.md, Launcher: More ranks than slots are refused.
TEST(Placement, RefusesMoreRanksThanSlotsNamingBoth) {
  try {
    (void)place_ranks(parse_host_list("a:2,b:2"), 5);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "-n 5 asks for more ranks than the 4 slots of 2 hosts; give a host more, as in -H a:5");
  }
}

TEST(Machine, KnowsItselfByNameAndAddressOnly) {
  Machine machine;
  machine.names = {"node7.lab", "node7"};
  machine.addresses = {"10.1.2.3", "fe80::1"};
  for (const char* own :
       {"localhost", "LOCALHOST", "127.0.0.1", "127.9.8.7", "::1", "0:0:0:0:0:0:0:1", "node7",
        "Node7.Lab", "10.1.2.3", "fe80::1", "FE80:0::1", "fe80::1%eth0"}) {
    EXPECT_TRUE(machine.is(own)) << own;
  }
  for (const char* other : {"node", "node8", "node7.other", "10.1.2.4", "128.0.0.1", "fe80::2",
                            "h1", "127.0.0.1.example", ""}) {
    EXPECT_FALSE(machine.is(other)) << other;
  }
}

TEST(Machine, OwnHasALoopbackAddress) {
  EXPECT_TRUE(Machine::own().addresses.contains("127.0.0.1"));
}

TEST(Machine, FindsAnInterfaceByNameAddressAndNetwork) {
  EXPECT_EQ(interface_address("lo"), "127.0.0.1");
  EXPECT_EQ(interface_address("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(interface_address("127.0.0.0/8"), "127.0.0.1");
  try {
    (void)interface_address("nosuch0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("--interface nosuch0: this machine has no "
                                    "interface of that name, address or network; it has "));
    EXPECT_THAT(error.what(), testing::HasSubstr("lo 127.0.0.1"));
  }
  EXPECT_THROW((void)interface_address("127.0.0.0/33"), Error);
  EXPECT_THROW((void)interface_address("127.0.0.0/x"), Error);
}

TEST(Machine, KnowsItsAddressTowardsItself) {
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
}

}  // namespace
}  // namespace bp::launcher
