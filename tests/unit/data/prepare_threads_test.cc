// A store does not depend on the number of threads that make it.
// docs/acceptance.md, Data: A store made by any number of threads has the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/data/prepare_fixture.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

class PrepareThreads : public PrepareTest {
 protected:
  // Writes texts of many lengths, some of them empty and one of `longest` words, in quotes.
  std::string write_texts(const std::string& name, int rows, unsigned seed, unsigned longest) {
    std::mt19937 random(seed);
    std::string content = "text,label\n";
    for (int row = 0; row < rows; ++row) {
      std::string text;
      const auto words = row == rows / 2 ? longest : random() % 40;
      for (auto word = words; word > 0; --word) {
        text += static_cast<char>('a' + random() % 5);
        text += random() % 9 == 0 ? ", " : " ";
      }
      content += concat("\"", text, "\",", row % 3, "\n");
    }
    return scratch_.write(name, content);
  }

  std::string bytes_with(PrepareOptions with, int threads) {
    with.threads = threads;
    with.rebuild = true;
    return read_file(run(with).store);
  }

  void expect_same_bytes(const PrepareOptions& with) {
    const std::string one = bytes_with(with, 1);
    EXPECT_NO_THROW(SampleStore::open(run(with).store).verify());
    for (const int threads : {2, 3, 8, 0}) {
      EXPECT_TRUE(bytes_with(with, threads) == one) << threads << " threads";
    }
  }
};

TEST_F(PrepareThreads, TheBytesOfAStoreDoNotDependOnTheirNumber) {
  PrepareOptions with = options(write_texts("r.csv", 9'500, 3, 700'000));
  with.max_length = 16;  // most texts are folded, and the longest one is a block by itself
  expect_same_bytes(with);
}

TEST_F(PrepareThreads, NorWithFilesForDevAndTestAndTextsKeptOnce) {
  PrepareOptions with = options(write_texts("r.csv", 2'700, 3, 1'000));
  with.dev_source = write_texts("dev.csv", 1'400, 3, 1'000);
  with.test_source = write_texts("test.csv", 1'100, 5, 1'000);
  with.dedupe = true;
  with.vocabulary = "";
  with.vocabulary_size = 30;
  with.long_text = LongText::truncate;
  expect_same_bytes(with);
}

TEST_F(PrepareThreads, TheFirstBadRowIsNamed) {
  std::string content = "text,label\n";
  for (int row = 1; row <= 9'000; ++row) {
    content += concat(row == 4'321 || row == 8'765 ? "a\xFF" : "a", ",", row % 3, "\n");
  }
  PrepareOptions with = options(scratch_.write("r.csv", content));
  for (const int threads : {1, 2, 3, 8}) {
    with.threads = threads;
    expect_refused(with, 65, "r.csv, row 4321 (line 4322): is not UTF-8", "--encoding");
  }
}

}  // namespace
}  // namespace bp::trainer
