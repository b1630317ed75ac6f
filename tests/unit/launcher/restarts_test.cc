// Whether a failed job restarts, and which hosts take part.
#include "launcher/supervise/restarts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/failure/host_record.h"
#include "launcher/hosts/host_entry.h"
#include "launcher/hosts/placement.h"

namespace bp::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// docs/acceptance.md, Recovery and restarts: A host that failed twice is left out, unless the
// others hold too few ranks.
TEST(HostRecord, AHostIsExcludedAfterItsSecondFailure) {
  HostRecord record;
  record.failed({"a"}, "rank 0 on a exited with code 7");
  record.failed({"b"}, "host b was lost");
  EXPECT_THAT(record.failed_too_often(), IsEmpty());
  record.failed({"b"}, "host b was lost again");
  EXPECT_THAT(record.failed_too_often(), ElementsAre("b"));
  EXPECT_THAT(record.out_of_reach(), IsEmpty());
  EXPECT_EQ(record.trouble("b"), "has failed 2 times (host b was lost again)");
}

TEST(HostRecord, AnUnreachableHostMayReturnAndHasNotFailed) {
  HostRecord record;
  record.failed({"a"}, "host a was lost");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(record.not_reached({"a", "b"}, "no route"));
    EXPECT_FALSE(record.not_reached({"b"}, "no route"));
    EXPECT_THAT(record.out_of_reach(), ElementsAre("a", "b"));
    record.look_again();
    EXPECT_THAT(record.out_of_reach(), IsEmpty());
  }
  EXPECT_THAT(record.failed_too_often(), IsEmpty());
  EXPECT_TRUE(record.not_reached({"a"}, "no route"));
  EXPECT_FALSE(record.not_reached({}, "of no host"));
  EXPECT_EQ(record.trouble("a"), "is out of reach (no route)");
}

TEST(MayHeal, AllCodesExceptThoseOfLastingErrors) {
  for (const int code : {2, 65, 66, 75, 77, 126, 127}) {
    EXPECT_FALSE(restart_may_help(code)) << code;
  }
  for (const int code : {1, 7, 69, 70, 137, 139}) {
    EXPECT_TRUE(restart_may_help(code)) << code;
  }
}

TEST(PlaceWhatFits, PlacesFewerRanksWithoutRoomAndNoneWithoutHosts) {
  const Hosts hosts = parse_host_list("a:3,b:2");
  EXPECT_THAT(local_sizes(place_what_fits(hosts, 4)), ElementsAre(3, 1));
  EXPECT_THAT(local_sizes(place_what_fits(hosts, 9)), ElementsAre(3, 2));
  EXPECT_THAT(local_sizes(place_what_fits(hosts, std::nullopt)), ElementsAre(3, 2));
  EXPECT_EQ(world_size(place_what_fits({}, 4)), 0);
}

}  // namespace
}  // namespace bp::launcher
