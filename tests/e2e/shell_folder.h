// Tests in temporary folders, where they run shell commands.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/text.h"
#include "tests/e2e/shell.h"
#include "tests/support/scratch.h"

namespace bp::test {

class ShellFolder : public Scratch {
 public:
  // Runs a command there, see shell().
  [[nodiscard]] Ended run(const std::string& command) const {
    return shell(concat("cd ", path(), " && ", command));
  }
  // Returns what a command that must succeed has printed.
  std::string output_of(const std::string& command) const {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0) << ended.output;
    return ended.output;
  }
};

// Each test has a folder of its own.
template <class Test = ::testing::Test>
class FolderTest : public Test {
 protected:
  [[nodiscard]] const Scratch& folder() const { return folder_; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] Ended in_folder(const std::string& command) const { return folder_.run(command); }
  std::string output_of(const std::string& command) const { return folder_.output_of(command); }

 private:
  ShellFolder folder_;
};

// The tests of Suite share a folder, which its SetUpTestSuite() makes.
template <class Suite>
class FolderSuite : public ::testing::Test {
 protected:
  static void make_folder() { folder_.emplace(); }
  static void TearDownTestSuite() { folder_.reset(); }
  static bool has_folder() { return folder_.has_value(); }

  static std::string path(const std::string& name) { return folder_->path(name); }
  static Ended in_folder(const std::string& command) { return folder_->run(command); }
  static std::string output_of(const std::string& command) { return folder_->output_of(command); }

 private:
  inline static std::optional<ShellFolder> folder_;
};

}  // namespace bp::test
