// A folder with a small run, which is trained once for all tests of a suite.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::test {

// The folder holds data.csv with 300 rows and the labels "no" and "yes", data.sqlite and the run r
// that are made from it, other.csv with 200 more rows, and tmp, which is TMPDIR.
class TrainedRun : public FolderSuite<TrainedRun> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    std::filesystem::create_directory(path("tmp"));
    write_rows("data.csv", 300, 0);
    write_rows("other.csv", 200, 1000);
    const Ended trained =
        bert_train("data.csv --model tiny --epochs 1 --batch 8 --max-length 32 --run r");
    ASSERT_EQ(trained.code, 0) << trained.output;
  }

  static void write_rows(const std::string& name, int rows, int first) {
    std::ofstream csv(path(name));
    csv << "text,label\n";
    constexpr const char* kWords[] = {"red", "blue", "green", "stone", "river", "cloud"};
    for (int row = first; row < first + rows; ++row) {
      for (int word = 0; word <= row % 17; ++word) {
        csv << kWords[(row * 5 + word * word) % 6] << ' ';
      }
      csv << row << (row % 3 == 0 ? " not good,no\n" : " good,yes\n");
    }
  }

  static Ended in_folder(const std::string& command) {
    return FolderSuite::in_folder("export TMPDIR=$PWD/tmp && " + command);
  }
  static std::string output_of(const std::string& command) {
    return FolderSuite::output_of("export TMPDIR=$PWD/tmp && " + command);
  }
  static Ended bert_train(const std::string& arguments) {
    return in_folder(kBinDir + "/bert_train " + arguments);
  }

  // The names of the entries of the folder and of tmp.
  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const std::string& folder : {path(""), path("tmp")}) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The line that begins with `begin`, or "".
  static std::string line_of(const std::string& output, const std::string& begin) {
    const std::size_t at = concat("\n", output).find("\n" + begin);
    return at == std::string::npos ? "" : output.substr(at, output.find('\n', at) - at);
  }
};

}  // namespace bp::test
