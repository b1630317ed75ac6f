// Files of a test, which disappear with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/text.h"

namespace bp::trainer {

class TextFiles : public ::testing::Test {
 protected:
  TextFiles() { std::filesystem::create_directories(folder_); }
  ~TextFiles() override { std::filesystem::remove_all(folder_); }

  // Returns the path of a new file.
  [[nodiscard]] std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = ::testing::TempDir() + concat("bp_pretrain_", ::getpid());
};

}  // namespace bp::trainer
