// Tests of bert_train on GPUs, on a machine that has none. The programs are those that users run.
// They find a fake driver, a fake NVML and a fake CUDA for LibTorch in LD_LIBRARY_PATH, and use the
// fake CUDA runtime, the fake NCCL and the code for devices compiled for the host.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/e2e/task_data.h"
#include "tests/support/cuda_kernels_on_host/use.h"
#include "tests/support/fake_cuda/use.h"
#include "tests/support/fake_nccl/use.h"
#include "tests/support/fake_torch_device/folder.h"
#include "tests/support/model_kernels_on_host/use.h"
#include "tests/support/on_gpu.h"
#include "tests/support/places.h"

namespace bp::test {

// Ranks that share the cores of a small machine should have one thread each.
inline int use_fake_gpus() {
  ::setenv("OMP_NUM_THREADS", "1", 1);
  if (runs_on_gpu()) return 0;
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  std::string path = kFakeGpuDir + ":" + kTestsDir + "/fake_nvml";
  if (const char* const before = std::getenv("LD_LIBRARY_PATH")) path += concat(":", before);
  return ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}
inline const int kUsesFakeGpus = use_fake_gpus();

// The numbers that a run has computed, by names such as "step 3 loss" and "step 6 dev accuracy".
using Numbers = std::map<std::string, double>;

// Reads metrics.jsonl. A number that is not finite is NaN.
inline Numbers numbers_of(const std::string& metrics) {
  Numbers numbers;
  std::ifstream in(metrics);
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line);
    const auto begin = concat("step ", record.at("step").get<int>(), " ");
    const auto add = [&](const std::string& name, const nlohmann::json& value) {
      numbers[begin + name] = value.is_number() ? value.get<double>() : std::nan("");
    };
    if (record.contains("split")) {
      for (const auto& [name, value] : record.items()) {
        if (name == "split" || name == "step" || name == "epoch" || name == "samples") continue;
        add(concat(record.at("split").get<std::string>(), " ", name), value);
      }
      continue;
    }
    for (const char* name : {"loss", "grad_norm", "skipped", "loss_scale"}) {
      if (record.contains(name)) add(name, record.at(name));
    }
  }
  return numbers;
}

// Returns how gradients travelled in the run, whose other sums are short: "nccl", "staged", ...
inline std::set<std::string> algorithms_of(const std::string& metrics) {
  constexpr int kFew = 1000;  // bytes
  std::set<std::string> algorithms;
  std::ifstream in(metrics);
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("comm")) continue;
    for (const auto& kind : record.at("comm").at("kinds")) {
      if (kind.at("operation") != "all_reduce" || kind.at("bytes") < kFew) continue;
      algorithms.insert(kind.at("algorithm").get<std::string>());
    }
  }
  return algorithms;
}

// Expects the same names, and numbers that differ by `tolerance` times the larger of 1 and the
// number at most. The norm of a gradient may differ by 10 times that.
inline void expect_near(const Numbers& expected, const Numbers& found, double tolerance) {
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(expected.size(), found.size());
  for (const auto& [name, value] : expected) {
    const auto other = found.find(name);
    if (other == found.end()) {
      ADD_FAILURE() << "there is no " << name;
      continue;
    }
    if (std::isnan(value) && std::isnan(other->second)) continue;
    const double factor = name.ends_with("grad_norm") ? 10 : 1;
    EXPECT_NEAR(other->second, value, factor * tolerance * std::max(1.0, std::abs(value))) << name;
  }
}

// The tests of Suite share a folder.
template <class Suite>
class GpuRuns : public FolderSuite<Suite> {
 protected:
  using FolderSuite<Suite>::path;

  // The data of prepare_pairs(), and how it is read: 96 rows to train on.
  static constexpr const char* kData =
      "pairs.csv --text premise --text2 hypothesis --limit 120 --max-length 32 ";

  // Makes the folder, with a store of pairs of texts in it.
  static void prepare_pairs() {
    FolderSuite<Suite>::make_folder();
    std::ofstream file(path("pairs.csv"));
    write_pairs(file);
    file.close();
    run_together(bert_train(concat("prep ", kData)));
  }

  static std::string bert_train(const std::string& arguments) {
    return concat(kBinDir + "/bert_train ", arguments);
  }
  static std::string bprun(const std::string& placing, const std::string& arguments) {
    return concat(kBinDir + "/bprun ", placing, " bert_train ", arguments);
  }
  // Makes a program that runs bert_train after shell commands. Returns the beginning of a command.
  static std::string with(const std::string& commands) {
    std::ofstream(path("wrapped")) << "#!/bin/sh\n"
                                   << commands << "\nexec " + kBinDir + "/bert_train \"$@\"\n";
    std::filesystem::permissions(path("wrapped"), std::filesystem::perms::owner_all);
    return "./wrapped ";
  }
  // Runs the commands at the same time. All must succeed.
  template <class... Commands>
  static void run_together(const Commands&... commands) {
    std::string all = "code=0; pids=; ";
    int count = 0;
    ((all += concat("{ ", commands, "; } > log.", count++, " 2>&1 & pids=\"$pids $!\"; ")), ...);
    all += "for pid in $pids; do wait $pid || code=$?; done; cat log.*; exit $code";
    const Ended ended = FolderSuite<Suite>::in_folder(all);
    ASSERT_EQ(ended.code, 0) << ended.output;
  }
  static Numbers numbers(const std::string& run) {
    return numbers_of(path(run + "/metrics.jsonl"));
  }
  static std::set<std::string> algorithms(const std::string& run) {
    return algorithms_of(path(run + "/metrics.jsonl"));
  }
  static std::string weights(const std::string& run) {
    return read(path(run + "/model/model.safetensors"));
  }
};

}  // namespace bp::test
