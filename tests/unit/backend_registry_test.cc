// The registry of backends, and what is read from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "bp/features.h"
#include "comm/backend/common/registry.h"
#include "comm/device/nccl_api.h"

namespace bp {
namespace {

// docs/features.md, Launching: A choice of backends | `BP_BACKEND`, `comm_bench --backend`
TEST(BackendRegistry, EveryEntryIsFoundByItsOwnName) {
  std::set<std::string_view> names;
  for (const BackendEntry& backend : backend_registry()) {
    EXPECT_EQ(find_backend(backend.name), &backend);
    EXPECT_TRUE(names.insert(backend.name).second) << backend.name << " occurs twice";
    EXPECT_FALSE(backend.what.empty()) << backend.name;
  }
  EXPECT_EQ(find_backend(kAutomaticBackend), nullptr);
  EXPECT_EQ(find_backend("mpi"), nullptr);
  EXPECT_EQ(backend_choices(), "auto, shm, gloo, gloo-native, gloo-native-batch, nccl");
}

TEST(BackendRegistry, FeaturesListEveryEntry) {
  const auto states = backend_states();
  ASSERT_EQ(states.size(), backend_registry().size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(states[i].name, backend_registry()[i].name);
    const bool is_nccl = states[i].name == "nccl";  // which this machine may lack
    EXPECT_EQ(states[i].problem, is_nccl ? find_nccl_problem() : "") << states[i].name;
  }
}

int problems_without_the_plugin() {
  ::setenv("BP_PLUGIN_DIR", "/nowhere", 1);
  int problems = 0;
  for (const BackendState& state : backend_states()) {
    problems += state.problem.starts_with("libbp_gloo.so was not found in: /nowhere") ? 1 : 0;
  }
  return problems;
}

// Ranks that share memory send their messages by Gloo too. In a process of its own, since the
// plugin is loaded once.
TEST(BackendRegistryDeathTest, EveryBackendNeedsGloosPlugin) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(std::_Exit(problems_without_the_plugin()), testing::ExitedWithCode(5), "");
}

}  // namespace
}  // namespace bp
