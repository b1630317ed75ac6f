#include <gtest/gtest.h>

#include "comm/transport/gloo_plugin/error_text.h"

namespace bp::gloo_plugin {
namespace {

TEST(GlooErrorText, OmitsTheLocationInGloosSource) {
  EXPECT_EQ(readable("[./gloo/transport/tcp/pair.cc:598] Connection reset\nsecond line"),
            "Connection reset");
  EXPECT_EQ(readable("plain"), "plain");
}

// Gloo prints a port in network byte order: 42069 is 0xA455, and 21924 is 0x55A4.
// docs/acceptance.md, Strangers: Error texts of Gloo are corrected.
TEST(GlooErrorText, HasPortsAsNumbers) {
  EXPECT_EQ(readable("[./pair.cc:575] Connection closed by peer [127.0.0.1]:21924"),
            "Connection closed by peer [127.0.0.1]:42069");
  EXPECT_EQ(readable("connect [::1]:21924: refused; [10.0.0.1]:256"),
            "connect [::1]:42069: refused; [10.0.0.1]:1");
  EXPECT_EQ(readable("connect [none]: refused"), "connect [none]: refused");
}

}  // namespace
}  // namespace bp::gloo_plugin
