// Folders that look like those of runs.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"
#include "trainer/report/metrics.h"
#include "trainer/report/sessions.h"
#include "trainer/report/summary.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer::test {

class RunsFixture : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name = "") const {
    return folder_ + "/" + name;
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }

  struct RunToMake {
    std::string name = {};
    double dev = 0.5;  // accuracy of the last evaluation; the one before is 0.1 lower
    double test = 0;   // 0: the run is not finished
    std::string lr = "0.001";
    std::string begun = "2026-11-24T03:02:00Z";
    std::string outcome = {};  // empty: it has not ended
  };
  void make_run(const RunToMake& run) const {
    write(run.name + "/config.yaml", settings_yaml({{"data", "a.csv", "command line"},
                                                    {"task", "classify", "default"},
                                                    {"model", "tiny", "default"},
                                                    {"lr", run.lr, "command line"},
                                                    {"run", run.name, "command line"}}));
    SessionWriter session(path(run.name + "/sessions.jsonl"),
                          {.begun = run.begun,
                           .version = "0.1.0",
                           .machine = "2 cores, a processor, Linux 6.1",
                           .main_score = {"accuracy", true},
                           .hosts = {{"a", 2}}},
                          false);
    MetricsWriter metrics(path(run.name + "/metrics.jsonl"));
    for (int step = 1; step <= 4; ++step) {
      metrics.write(StepRecord{.step = step * 10,
                               .epoch = step / 2.0,
                               .samples = step * 320,
                               .loss = 1.0 / step,
                               .samples_per_s = 64,
                               .compute_ms = 400,
                               .comm_exposed_ms = 90,
                               .data_wait_ms = 10});
      if (step % 2 == 1) continue;
      const double accuracy = run.dev - (step == 2 ? 0.1 : 0);
      metrics.write(EvaluationRecord{step * 10,
                                     step / 2.0,
                                     step * 320,
                                     "dev",
                                     {{{"loss", 1 - accuracy}, {"accuracy", accuracy}}}});
    }
    if (!run.outcome.empty())
      session.end(40, run.outcome, run.outcome == "failed" ? "a reason" : "");
    if (run.test == 0) return;
    write(run.name + "/summary.json",
          to_json({.steps = 40,
                   .epochs = 2,
                   .train = {.samples_per_s = 64, .tokens_per_s = 640, .seconds = 20, .loss = 0.25},
                   .dev = EvaluationSummary{{{"loss", 1 - run.dev}, {"accuracy", run.dev}}},
                   .test = EvaluationSummary{{{"loss", 0.5}, {"accuracy", run.test}}}}));
    write(run.name + "/report.html", "<!DOCTYPE html>");
  }

 private:
  std::string folder_ = ::testing::TempDir() + concat("bp_runs_", ::getpid());
};

}  // namespace bp::trainer::test
