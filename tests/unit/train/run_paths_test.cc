// The paths of a run's options, read from another folder and after a move.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

class RunPaths : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(scratch_.path("project/runs/x"));
    fs::create_directory(scratch_.path("elsewhere"));
    write("project/data.csv");
    enter("project");
  }
  void TearDown() override { fs::current_path(before_); }

  void enter(const std::string& folder) const { fs::current_path(scratch_.path(folder)); }
  void write(const std::string& name) const { std::ofstream(scratch_.path(name)) << "x"; }
  // Writes config.yaml as a run does that is started here.
  static void start(const std::string& run, const std::vector<Setting>& settings) {
    write_run_settings(run, settings);
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return fs::canonical(scratch_.path("")).string() + "/" + name;
  }
  static std::string setting(const std::string& run, const std::string& key) {
    return value_of(read_run_settings(run), key);
  }

  Scratch scratch_;

 private:
  fs::path before_ = fs::current_path();
};

TEST_F(RunPaths, LeadToTheFolderInWhichTheRunWasStarted) {
  start("runs/x", {{"data", "data.csv", ""}, {"seed", "1", ""}});
  EXPECT_EQ(setting("runs/x", "data"), "data.csv");
  for (const std::string folder : {"elsewhere", "project/runs"}) {
    enter(folder);
    EXPECT_EQ(setting(path("project/runs/x"), "data"), path("project/data.csv"));
  }
  EXPECT_EQ(setting("x", "seed"), "1");
  enter("project/runs/x");
  EXPECT_EQ(setting(".", "data"), path("project/data.csv"));
}

TEST_F(RunPaths, AFileOfTheCurrentFolderCountsFirst) {
  start("runs/x", {{"data", "data.csv", ""}});
  write("elsewhere/data.csv");
  enter("elsewhere");
  EXPECT_EQ(setting("../project/runs/x", "data"), "data.csv");
}

TEST_F(RunPaths, FollowAProjectThatWasMoved) {
  start("runs/x", {{"data", "data.csv", ""}});
  fs::rename(scratch_.path("project"), scratch_.path("moved"));
  enter("elsewhere");
  EXPECT_EQ(setting("../moved/runs/x", "data"), path("moved/data.csv"));
}

TEST_F(RunPaths, FollowARunThatWasMovedAlone) {
  start("runs/x", {{"data", "data.csv", ""}});
  fs::rename("runs/x", scratch_.path("elsewhere/x"));
  enter("elsewhere");
  EXPECT_EQ(setting("x", "data"), path("project/data.csv"));
}

TEST_F(RunPaths, AreFoundInAListAndByTheirStore) {
  write("project/more.csv");
  write("project/gone.sqlite");
  start("runs/x", {{"data", "gone.csv", ""}, {"also", "data.csv,/abs.csv,more.csv", ""}});
  enter("elsewhere");
  EXPECT_EQ(setting("../project/runs/x", "also"),
            concat(path("project/data.csv"), ",/abs.csv,", path("project/more.csv")));
  EXPECT_EQ(setting("../project/runs/x", "data"), path("project/gone.csv"));
}

TEST_F(RunPaths, StayAsTheyAreInAnOlderRunAndForMissingFiles) {
  std::ofstream("runs/x/config.yaml") << settings_yaml({{"data", "data.csv", ""}});
  enter("elsewhere");
  EXPECT_EQ(setting("../project/runs/x", "data"), "data.csv");
  enter("project");
  start("runs/x", {{"data", "none.csv", ""}, {"model", "tiny", ""}});
  enter("elsewhere");
  EXPECT_EQ(setting("../project/runs/x", "data"), "none.csv");
  EXPECT_EQ(setting("../project/runs/x", "model"), "tiny");
  EXPECT_TRUE(read_run_settings("none").empty());
}

}  // namespace
}  // namespace bp::trainer
