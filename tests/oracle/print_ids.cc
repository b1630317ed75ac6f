// print_ids VOCAB.txt cased|uncased FILE.tsv COLUMN header|none: prints the ids of each row's text,
// one row per line.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "trainer/input/table_reader.h"
#include "trainer/text/tokenizer.h"

int main(int argc, char** argv) {
  using namespace bp::trainer;
  if (argc != 6) {
    std::fprintf(stderr, "usage: print_ids VOCAB.txt cased|uncased FILE.tsv COLUMN header|none\n");
    return 2;
  }
  try {
    Tokenizer tokenizer(Vocabulary::read(argv[1]), std::string(argv[2]) == "uncased");
    Dialect dialect = kTsv;
    dialect.header = std::string(argv[5]) == "header";
    TableReader reader(argv[3], dialect);
    while (reader.next()) {
      if (reader.row() == 0) {
        continue;
      }
      std::vector<std::int32_t> ids;
      tokenizer.encode(reader.fields().at(std::strtoul(argv[4], nullptr, 10) - 1), ids);
      for (const std::int32_t id : ids) {
        std::printf("%d ", id);
      }
      std::printf("\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "print_ids: %s\n", error.what());
    return 1;
  }
  return 0;
}
