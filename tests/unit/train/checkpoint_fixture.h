// A folder for checkpoints of a few bytes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "trainer/train/checkpoint_folder.h"
#include "trainer/train/checkpoint_state.h"
#include "trainer/train/manifest.h"

namespace bp::trainer::test {

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }
  [[nodiscard]] CheckpointFolder checkpoints() const {
    return CheckpointFolder(path("run/checkpoints"));
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  [[nodiscard]] static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // A complete one.
  void save(std::int64_t step, std::optional<std::int64_t> best = {}, int keep = 2) const {
    CheckpointState state;
    state.step = step;
    state.rows = 100;
    const std::string part = checkpoints().begin(step);
    std::ofstream(part + "/state.json") << to_json(state);
    std::ofstream(part + "/model.safetensors") << "weights of " << step;
    checkpoints().publish({step, best, keep});
  }
  // What lies in a folder, sorted.
  [[nodiscard]] static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string root_ = ::testing::TempDir() +
                      concat("bp_checkpoint_",
                             ::getpid(),
                             "_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace bp::trainer::test
