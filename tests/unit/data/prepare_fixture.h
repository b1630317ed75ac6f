// A test that prepares small tables in its own folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/prepare/prepare.h"

namespace bp::trainer {

inline constexpr std::string_view kPrepareVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\n";

inline constexpr LeaseTimes kQuick{std::chrono::milliseconds(20), std::chrono::milliseconds(1000)};

class PrepareTest : public testing::Test {
 protected:
  // Writes a table of `rows` rows with the same text, whose labels alternate between good and bad.
  std::string write_rows(const std::string& name, int rows, const std::string& text = "a b c") {
    std::string content = "text,label\n";
    for (int row = 0; row < rows; ++row) {
      content += concat(text, ",", row % 2 == 0 ? "good" : "bad", "\n");
    }
    return scratch_.write(name, content);
  }

  PrepareOptions options(const std::string& source) {
    PrepareOptions options;
    options.task = classify();
    options.source = source;
    options.vocabulary = scratch_.write("vocab.txt", kPrepareVocabulary);
    return options;
  }

  PrepareResult run(const PrepareOptions& with) {
    messages_.clear();
    return prepare(
        with, [&](const std::string& line) { messages_.push_back(line); }, kQuick);
  }

  void expect_refused(const PrepareOptions& with,
                      int code,
                      const std::string& text,
                      const std::string& hint) {
    const std::vector<std::string> before = scratch_.names();
    expect_input_error(code, text, hint, [&] { run(with); });
    EXPECT_EQ(scratch_.names(), before) << "a refused preparation must leave no files";
  }

  Scratch scratch_;
  std::vector<std::string> messages_;
};

}  // namespace bp::trainer
