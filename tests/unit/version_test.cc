#include "bp/version.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace bp {
namespace {

TEST(Version, IsOneInTextAndNumbers) {
  EXPECT_EQ(BP_VERSION, concat(BP_VERSION_MAJOR, ".", BP_VERSION_MINOR, ".", BP_VERSION_PATCH));
  EXPECT_EQ(library_version(), BP_VERSION);
}

}  // namespace
}  // namespace bp
