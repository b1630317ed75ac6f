// Measures the way from text to samples: reading a table and the same rows as JSON lines, preparing
// a store, loading samples.
//
//   data_bench SCRATCH_FOLDER TRAIN.tsv VOCAB.txt      text in column 1, label in column 2
//
// Prints the medians of three runs. prepare() writes and syncs SCRATCH_FOLDER/data_bench.sqlite.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/permutation.h"
#include "bench/build_info.h"
#include "tests/support/classify_data.h"
#include "trainer/input/json_lines_reader.h"
#include "trainer/input/table_reader.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"
#include "trainer/text/vocabulary_training.h"

namespace bp::trainer {
namespace {

using Clock = std::chrono::steady_clock;

template <class Action>
double median_seconds(const Action& action) {
  std::array<double, 3> seconds{};
  for (double& run : seconds) {
    const auto begin = Clock::now();
    action();
    run = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

void read_table(const std::string& path, const Dialect& dialect, const char* name) {
  std::int64_t rows = 0;
  const double seconds = median_seconds([&] {
    TableReader reader(path, dialect);
    for (rows = 0; reader.next(); ++rows) {
    }
  });
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  std::printf("%-26s %9.0f MB/s %12.0f rows/s\n", name, bytes / seconds * 1e-6,
              static_cast<double>(rows) / seconds);
}

// Writes the rows of a TSV file as JSON lines with the keys "text" and "label".
void write_json_lines(const std::string& source, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  TableReader reader(source, kTsv);
  while (reader.next()) {
    const nlohmann::json row = {{"text", reader.fields()[0]}, {"label", reader.fields()[1]}};
    file << row.dump() << '\n';
  }
}

void read_json_lines(const std::string& path) {
  std::int64_t rows = 0;
  const double seconds = median_seconds([&] {
    JsonLinesReader reader(path, {"text", "label"});
    while (reader.next()) rows = reader.row();
  });
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  std::printf("%-26s %9.0f MB/s %12.0f rows/s\n", "read JSON lines", bytes / seconds * 1e-6,
              static_cast<double>(rows) / seconds);
}

void measure(const std::string& folder, const std::string& source, const std::string& vocabulary) {
  read_table(source, kTsv, "read TSV");
  const std::string lines = folder + "/data_bench.jsonl";
  write_json_lines(source, lines);
  read_json_lines(lines);
  ::unlink(lines.c_str());
  PrepareOptions options;
  options.source = source;
  options.store = folder + "/data_bench.sqlite";
  options.task = classify({"--text", "1", "--label", "2"});
  options.vocabulary = vocabulary;
  options.rebuild = true;
  const double prepared =
      median_seconds([&] { (void)prepare(options, [](const std::string&) {}); });
  const SampleStore store = SampleStore::open(options.store);
  const std::int64_t rows = store.size(Split::train);
  const std::int64_t all = rows + store.size(Split::dev) + store.size(Split::test);
  std::printf("%-26s %9.2f s    %12.0f rows/s\n", "prepare", prepared,
              static_cast<double>(all) / prepared);

  std::size_t tokens = 0;
  const double loaded = median_seconds([&] {
    for (std::int64_t i = 0; i < rows; ++i) {
      tokens += store.load(Split::train, permuted(i, rows, 1, 0)).token_ids.size();
    }
  });
  std::printf("%-26s %9.2f us a sample\n", "load, shuffled",
              loaded / static_cast<double>(rows) * 1e6);

  const double trained = median_seconds([&] {
    VocabularyTrainer trainer(true);
    TableReader reader(source, kTsv);
    while (reader.next()) {
      trainer.add(reader.fields()[0]);
    }
    tokens += trainer.train(8000).tokens.size();
  });
  std::printf("%-26s %9.2f s\n", "train a vocabulary of 8000", trained);
  ::unlink(options.store.c_str());
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: data_bench SCRATCH_FOLDER TRAIN.tsv VOCAB.txt\n");
    return 2;
  }
  try {
    if (*BP_NOT_FOR_MEASURING != '\0') {
      std::printf("not for measuring: %s\n", BP_NOT_FOR_MEASURING);
    }
    bp::trainer::measure(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "data_bench: %s\n", error.what());
    return 66;
  }
  return 0;
}
