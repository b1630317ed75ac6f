// Which job measures a world of `bert_train scale`.
#include "trainer/commands/scale_worlds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "base/text.h"
#include "trainer/commands/command_line.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;

std::string refused_world(const std::string& world, const std::string& hosts) {
  try {
    return hosts_of_world(world, hosts);
  } catch (const InputError& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return concat(error.what(), " | ", error.hint());
  }
}

TEST(ScaleWorlds, AreTheHostsOfBprun) {
  EXPECT_EQ(hosts_of_world("3+1", "a,b,c"), "a:3,b:1");
  EXPECT_EQ(hosts_of_world("2", "a,b"), "a:2");
  EXPECT_EQ(hosts_of_world("3+1", ""), "localhost:3,127.0.0.1:1");
  EXPECT_EQ(refused_world("1+1+1", ""),
            "--worlds: '1+1+1' has 3 hosts, and --hosts has two without a value | name the hosts "
            "in order: --hosts a,b,c");
  EXPECT_EQ(refused_world("2+", "a,b"),
            "--worlds: '2+' is not a world | ranks of each host: --worlds 1,2,3+1");
  EXPECT_EQ(refused_world("0", ""),
            "--worlds: '0' is not a world | ranks of each host: --worlds 1,2,3+1");
  EXPECT_EQ(refused_world("1", "a:3,b"),
            "--hosts: 'a:3' is not a name of a host | names alone, as --worlds has the ranks: "
            "--hosts a,b");
}

TEST(ScaleWorlds, AreRefusedBeforeAnythingStarts) {
  const auto options = std::get<ScaleOptions>(
      parse_command_line({"scale", "x.csv", "-H", "a,b", "--worlds", "1,3+1", "--batch", "8"})
          .options);
  EXPECT_EQ(options.hosts, "a,b");
  EXPECT_THAT(options.worlds, ElementsAre("1", "3+1"));
  EXPECT_EQ(options.training.batch, 8);
  EXPECT_THROW((void)parse_command_line({"scale", "x.csv", "--worlds", "1,x"}), InputError);
}

TEST(ScaleWorlds, PassTheOptionsOfTraining) {
  EXPECT_THAT(arguments_of_world({"x.csv", "--hosts", "a,b", "--batch", "8", "--worlds=1,2",
                                  "--out", "f", "--measured-steps", "5"}),
              ElementsAre("x.csv", "--batch", "8", "--measured-steps", "5"));
}

}  // namespace
}  // namespace bp::trainer
