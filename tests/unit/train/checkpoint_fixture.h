// A test with a temporary folder for checkpoints of a few bytes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/checkpoint/manifest.h"

namespace bp::trainer::test {

// A JSON document that keeps the order of its keys would crash with so many levels.
inline const std::string kDeep = std::string(200'000, '[') + std::string(200'000, ']');

class CheckpointTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return scratch_.path(name); }
  [[nodiscard]] CheckpointFolder checkpoints() const {
    return CheckpointFolder(path("run/checkpoints"));
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    scratch_.write(name, text);
  }

  // Writes a complete checkpoint.
  void save(std::int64_t step, const std::vector<std::int64_t>& best = {}, int keep = 2) const {
    CheckpointState state;
    state.step = step;
    state.rows = 100;
    const std::string part = checkpoints().begin(step);
    std::ofstream(part + "/state.json") << to_json(state);
    std::ofstream(part + "/model.safetensors") << "weights of " << step;
    checkpoints().publish({step, best, {keep}});
  }
  // The names of the entries of a folder, sorted.
  [[nodiscard]] static std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  Scratch scratch_;
};

}  // namespace bp::trainer::test
