#include "bp/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bp {
namespace {

TEST(Log, SinkGetsEnabledLevelsWithTheirContext) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  set_log_context("rank 2/8");
  log(LogLevel::warn, "peer 0 silent");
  log(LogLevel::debug, "not shown by default");
  set_log_context("");
  log(LogLevel::error, "bare");
  set_log_sink({});
  EXPECT_EQ(lines, (std::vector<std::string>{"rank 2/8] peer 0 silent", "bare"}));
}

TEST(Log, TellsWhichLevelsAreEnabled) {
  for (const LogLevel level : {LogLevel::error, LogLevel::warn}) EXPECT_TRUE(log_enabled(level));
  for (const LogLevel level : {LogLevel::info, LogLevel::debug}) EXPECT_FALSE(log_enabled(level));
}

}  // namespace
}  // namespace bp
