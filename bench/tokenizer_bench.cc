// Measures the tokenizer on one core: it makes ids of one row after another, as prepare() does.
//
//   tokenizer_bench VOCAB.txt FILE[:COLUMN]...      a TSV file and the column of its texts, from 1
//
// Each of five runs encodes all rows of a file twice: with a new tokenizer, whose word cache is
// empty (cold), and again with the same one (warm). Prints medians; MB are 10^6 bytes of text.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/build_info.h"
#include "trainer/input/table_reader.h"
#include "trainer/text/tokenizer.h"

namespace {

using bp::trainer::Tokenizer;
using Clock = std::chrono::steady_clock;

std::vector<std::string> read_texts(const std::string& path, std::size_t column) {
  bp::trainer::TableReader reader(path, bp::trainer::kTsv);
  std::vector<std::string> texts;
  while (reader.next()) {
    texts.emplace_back(reader.fields().at(column));
  }
  return texts;
}

struct Run {
  double seconds = 0;
  std::size_t tokens = 0;
};

Run encode_all(Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  std::vector<std::int32_t> ids;
  Run run;
  const auto begin = Clock::now();
  for (const std::string& text : texts) {
    ids.clear();
    tokenizer.encode(text, ids);
    run.tokens += ids.size();
  }
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return run;
}

// Returns the sum of each id times its position from 1, modulo 2^64, which is equal for equal ids.
std::uint64_t checksum(Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  std::vector<std::int32_t> ids;
  for (const std::string& text : texts) {
    tokenizer.encode(text, ids);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sum += (i + 1) * static_cast<std::uint64_t>(ids[i]);
  }
  return sum;
}

void measure(const bp::trainer::Vocabulary& vocabulary, const std::string& argument) {
  const std::size_t colon = argument.rfind(':');
  const std::string path = argument.substr(0, colon);
  const std::size_t column =
      colon == std::string::npos ? 0 : std::strtoul(argument.c_str() + colon + 1, nullptr, 10) - 1;
  const std::vector<std::string> texts = read_texts(path, column);
  std::size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
  }
  std::array<double, 5> cold{};
  std::array<double, 5> warm{};
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < cold.size(); ++i) {
    Tokenizer tokenizer(vocabulary);
    cold[i] = encode_all(tokenizer, texts).seconds;
    const Run again = encode_all(tokenizer, texts);
    warm[i] = again.seconds;
    tokens = again.tokens;
  }
  std::sort(cold.begin(), cold.end());
  std::sort(warm.begin(), warm.end());
  const auto rate = [](std::size_t what, double seconds) {
    return static_cast<double>(what) / seconds * 1e-6;
  };
  Tokenizer tokenizer(vocabulary);
  std::printf("%-28s %8zu %7.1f %10zu %10.1f %10.1f %10.1f %20" PRIu64 "\n",
              path.substr(path.find_last_of('/') + 1).c_str(), texts.size(),
              static_cast<double>(bytes) * 1e-6, tokens, rate(bytes, cold[2]), rate(bytes, warm[2]),
              rate(tokens, cold[2]), checksum(tokenizer, texts));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tokenizer_bench VOCAB.txt FILE[:COLUMN]...\n");
    return 2;
  }
  try {
    if (*BP_NOT_FOR_MEASURING != '\0') {
      std::printf("not for measuring: %s\n", BP_NOT_FOR_MEASURING);
    }
    const auto vocabulary = bp::trainer::Vocabulary::read(argv[1]);
    std::printf("%-28s %8s %7s %10s %10s %10s %10s %20s\n", "file", "rows", "MB", "tokens",
                "cold_MB/s", "warm_MB/s", "Mtokens/s", "checksum");
    for (int i = 2; i < argc; ++i) {
      measure(vocabulary, argv[i]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokenizer_bench: %s\n", error.what());
    return 66;
  }
  return 0;
}
