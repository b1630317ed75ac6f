// A sweep of shell scripts in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"

namespace bp::test {

class SweepTest : public testing::Test {
 protected:
  // Starts a sweep of `space` in the test's folder. `script` is run by sh, with the folder as $D
  // and its parameters as $1, $2, ...
  BprunProcess start(const std::string& space,
                     const std::string& script,
                     std::vector<std::string> options,
                     const std::vector<std::string>& parameters = {"{i}"},
                     std::vector<std::string> before = {}) {
    scratch_.write("space.yaml", space);
    options.insert(options.begin(), {"sweep", scratch_.path("space.yaml"), "--folder", folder()});
    options.insert(options.end(),
                   {"--env", "D=" + scratch_.path(), "--", "sh", "-c", script, "sh"});
    options.insert(options.end(), parameters.begin(), parameters.end());
    return BprunProcess({.arguments = std::move(options), .before = std::move(before)});
  }

  [[nodiscard]] std::string folder() const { return scratch_.path("sweep"); }

  // The output of `bprun sweep COMMAND FOLDER WORDS`.
  [[nodiscard]] std::string ask(const std::string& command, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"sweep", command, folder()});
    BprunProcess bprun({std::move(words)});
    EXPECT_EQ(bprun.finish(), 0) << bprun.err();
    return bprun.out();
  }
  [[nodiscard]] nlohmann::json status() { return nlohmann::json::parse(ask("status", {"--json"})); }
  [[nodiscard]] int count(const std::string& state) { return status()["counts"].value(state, 0); }

  // The lines of a file in the test's folder, sorted.
  [[nodiscard]] std::vector<std::string> lines(const std::string& name) const {
    std::istringstream text(read_file(scratch_.path(name)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
  }
  [[nodiscard]] bool wait_for_file(const std::string& name) const {
    for (int i = 0; i < 3000 && !std::filesystem::exists(scratch_.path(name)); ++i)
      ::usleep(10'000);
    return std::filesystem::exists(scratch_.path(name));
  }

  const Scratch scratch_;
};

inline std::vector<std::string> numbers_to(int last) {
  std::vector<std::string> numbers;
  for (int i = 1; i <= last; ++i) numbers.push_back(std::to_string(i));
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace bp::test
