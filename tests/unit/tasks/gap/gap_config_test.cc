// The part of config.json that belongs to a head for GAP.
#include "trainer/tasks/gap/gap_config.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/text.h"
#include "tests/support/refusal.h"

namespace bp::trainer {
namespace {

TEST(GapConfig, AHeadSurvivesItsFile) {
  for (const auto& [name, kind] : gap_head_names()) {
    EncoderSpec config;
    config.head = gap_keys(kind);
    EXPECT_EQ(gap_head_of(parse_config(config_json(config))), kind);
    EXPECT_EQ(name_of(kind), name);
  }
  EXPECT_EQ(gap_head_of({}), std::nullopt);
}

TEST(GapConfig, AnUnknownHeadIsRefused) {
  for (const std::string value : {"'sum'", "3", "null"}) {
    EncoderSpec config;
    config.head = {{"gap_head", value == "'sum'" ? "\"sum\"" : value}};
    EXPECT_EQ(test::refusal_of([&] { return gap_head_of(config); }),
              concat("'gap_head' is ", value, "; it must be concat, mul or segment"));
  }
}

}  // namespace
}  // namespace bp::trainer
