// print_ids VOCABULARY cased|uncased FILE [COLUMN header|none]: prints the ids of each row's text,
// one row per line. FILE is a TSV file; without COLUMN, each line is a JSON string.
//
// print_ids --train SIZE FILE [COLUMN header|none]: trains byte pairs on the texts, and prints the
// tokenizer.json.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "trainer/input/table_reader.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/vocabulary_training.h"

namespace {

using namespace bp::trainer;
using TakeText = std::function<void(const std::string& text)>;

void read_table(char** argv, const TakeText& take) {
  Dialect dialect = kTsv;
  dialect.header = std::string(argv[5]) == "header";
  TableReader reader(argv[3], dialect);
  while (reader.next()) {
    if (reader.row() == 0) continue;
    take(std::string(reader.fields().at(std::strtoul(argv[4], nullptr, 10) - 1)));
  }
}

void read_strings(const char* path, const TakeText& take) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    take(nlohmann::json::parse(line).get<std::string>());
  }
}

void read_texts(int argc, char** argv, const TakeText& take) {
  if (argc == 6) {
    read_table(argv, take);
  } else {
    read_strings(argv[3], take);
  }
}

void train(int argc, char** argv) {
  VocabularyTrainer trainer(false, VocabularyKind::byte_pairs);
  read_texts(argc, argv, [&](const std::string& text) { trainer.add(text); });
  std::printf("%s\n", trainer.train(std::atoi(argv[2])).json().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 4) {
    std::fprintf(stderr,
                 "usage: print_ids VOCABULARY cased|uncased FILE [COLUMN header|none]\n"
                 "       print_ids --train SIZE FILE [COLUMN header|none]\n");
    return 2;
  }
  try {
    if (std::string(argv[1]) == "--train") {
      train(argc, argv);
      return 0;
    }
    Tokenizer tokenizer(Vocabulary::read(argv[1]), std::string(argv[2]) == "uncased");
    const TakeText print = [&](const std::string& text) {
      std::vector<std::int32_t> ids;
      tokenizer.encode(text, ids);
      for (const std::int32_t id : ids) std::printf("%d ", id);
      std::printf("\n");
    };
    read_texts(argc, argv, print);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "print_ids: %s\n", error.what());
    return 1;
  }
  return 0;
}
