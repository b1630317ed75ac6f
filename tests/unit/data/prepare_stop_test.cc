// Preparing that a signal asks to stop, and those signals.
// docs/acceptance.md, Data: Ctrl-C and SIGTERM stop a preparation and leave nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "tests/unit/data/prepare_fixture.h"
#include "trainer/common/stop_signals.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class PrepareStopped : public PrepareTest {
 protected:
  // Prepares, and asks itself to stop as soon as there is something to keep. Returns the text of
  // the exception, or "" if it finished first, which may happen on a busy machine.
  std::string stopped_amid(const PrepareOptions& with) {
    const StopSignals signals;
    std::atomic<bool> done = false;
    std::thread stopper([&] {
      while (!done && part_size() < 100'000) std::this_thread::sleep_for(100us);
      if (!done) ::kill(::getpid(), SIGTERM);
    });
    std::string text;
    try {
      run(with);
    } catch (const Interrupted& stopped) {
      text = stopped.what();
    }
    done = true;
    stopper.join();
    return text;
  }

 private:
  [[nodiscard]] std::uintmax_t part_size() const {
    std::uintmax_t size = 0;
    for (const std::string& name : scratch_.names()) {
      std::error_code ignored;
      if (name.find(".part-") == std::string::npos || name.ends_with("-journal")) continue;
      size = std::filesystem::file_size(scratch_.path(name), ignored);
      if (ignored) size = 0;
    }
    return size;
  }
};

TEST_F(PrepareStopped, BeforeAnythingIsPreparedLeavesNothing) {
  const PrepareOptions with = options(write_rows("r.csv", 10));
  const StopSignals signals;
  (void)std::raise(SIGTERM);
  EXPECT_THAT([&] { run(with); }, testing::ThrowsMessage<Interrupted>(
                                      concat("stopped on request while reading ", with.source)));
  EXPECT_EQ(stop_exit_code(), 75);
  EXPECT_THAT(scratch_.names(), ElementsAre("r.csv", "vocab.txt"));
}

TEST_F(PrepareStopped, KeepsWhatIsPreparedForTheNextWithTheSameBytes) {
  PrepareOptions with = options(write_rows("r.csv", 40'000));
  with.store = scratch_.path("whole.sqlite");
  const std::string whole = read_file(run(with).store);
  with.store = scratch_.path("r.sqlite");
  std::string text;
  for (int attempt = 0; attempt < 10 && text.empty(); ++attempt) {
    std::filesystem::remove(with.store);
    text = stopped_amid(with);
  }
  EXPECT_THAT(text, HasSubstr(" of 40,000 rows are prepared and kept"));
  EXPECT_FALSE(std::filesystem::exists(with.store));
  run(with);
  EXPECT_THAT(messages_[0], HasSubstr("continuing where an earlier preparer stopped, after "));
  EXPECT_TRUE(read_file(with.store) == whole);
  EXPECT_THAT(scratch_.names(), ElementsAre("r.csv", "r.sqlite", "vocab.txt", "whole.sqlite"));
}

// A leftover does not say which rows it has.
TEST_F(PrepareStopped, ContinuesWithoutTheRowsThatAreLeftOut) {
  std::string content = "text,label\n";
  for (int row = 0; row < 60'000; ++row) {
    content += concat("a b c,", row % 3 == 0 ? "odd" : row % 2 == 0 ? "good" : "bad", "\n");
  }
  PrepareOptions with = options(scratch_.write("r.csv", content));
  with.task = classify({"--labels", "good,bad", "--unknown-labels", "skip"});
  with.store = scratch_.path("whole.sqlite");
  const std::string whole = read_file(run(with).store);
  with.store = scratch_.path("r.sqlite");
  std::string text;
  for (int attempt = 0; attempt < 10 && text.empty(); ++attempt) {
    std::filesystem::remove(with.store);
    text = stopped_amid(with);
  }
  EXPECT_THAT(text, HasSubstr(" of 40,000 rows are prepared and kept"));
  run(with);
  EXPECT_THAT(messages_[0], HasSubstr("continuing where an earlier preparer stopped, after "));
  EXPECT_TRUE(read_file(with.store) == whole);
}

class StopSignalsTest : public testing::Test {};

TEST_F(StopSignalsTest, CtrlCHasCode130AndIsResetAtTheEndOfTheScope) {
  {
    const StopSignals outer;
    const StopSignals inner;
    EXPECT_EQ(stop_signal(), 0);
    (void)std::raise(SIGINT);
    (void)std::raise(SIGTERM);  // only the first signal counts
    EXPECT_EQ(stop_signal(), SIGINT);
    EXPECT_EQ(stop_exit_code(), 130);
  }
  EXPECT_EQ(stop_signal(), 0);
}

TEST_F(StopSignalsTest, ASecondCtrlCEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        const StopSignals signals(true);
        (void)std::raise(SIGINT);
        (void)std::raise(SIGINT);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGINT), "press Ctrl-C again to end at once.*\n.*ended at once");
}

TEST_F(StopSignalsTest, WhatTheParentIgnoresStaysIgnored) {
  EXPECT_EXIT(
      {
        (void)std::signal(SIGHUP, SIG_IGN);
        const StopSignals signals;
        (void)std::raise(SIGHUP);
        ::_exit(stop_signal());
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace bp::trainer
