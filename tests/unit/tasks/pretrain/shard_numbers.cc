// shard_numbers write PATH ROWS: writes a shard of ROWS instances of at most 32 tokens and 5 masks.
// shard_numbers read PATH VOCABULARY: prints each instance of a shard: the tokens of the first
// segment, of the second, the next sentence's number, positions and ids.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "trainer/tasks/pretrain/shard_reader.h"
#include "trainer/tasks/pretrain/shard_writer.h"

namespace bp::trainer {
namespace {

void print(std::span<const std::int32_t> numbers, const char* end) {
  for (const std::int32_t number : numbers) std::printf("%d ", number);
  std::printf("%s", end);
}

void print(const Instance& instance) {
  const auto first = static_cast<std::size_t>(instance.first);
  print(instance.tokens.first(first), ", ");
  print(instance.tokens.subspan(first), ", ");
  std::printf("%d, ", static_cast<int>(instance.next));
  print(instance.positions, ", ");
  print(instance.ids, "\n");
}

void write(const std::string& path, int rows) {
  ShardWriter writer(path, {.tokens = 32, .masked = 5});
  for (int row = 0; row < rows; ++row) {
    const int length = 4 + row % 29;
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> positions;
    std::vector<std::int32_t> ids;
    for (int i = 0; i < length; ++i) tokens.push_back((row * 31 + i * 7) % 30000);
    for (int i = 1; i <= row % 6 && i < length; ++i) {
      positions.push_back(i);
      ids.push_back(row % 1000 + i);
    }
    const bool has_second = row % 4 != 3;
    const Instance instance{tokens, has_second ? 2 + row % 2 : length,
                            !has_second    ? NextSentence::none
                            : row % 4 == 0 ? NextSentence::follows
                                           : NextSentence::random,
                            positions, ids};
    writer.add(instance);
    print(instance);
  }
  writer.keep();
}

void read(const std::string& path, int vocabulary) {
  ShardReader reader(path, vocabulary);
  while (reader.next()) print(reader.instance());
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  try {
    const std::string action = argc == 4 ? argv[1] : "";
    if (action == "write") {
      bp::trainer::write(argv[2], std::atoi(argv[3]));
    } else if (action == "read") {
      bp::trainer::read(argv[2], std::atoi(argv[3]));
    } else {
      std::fprintf(stderr, "usage: shard_numbers write PATH ROWS | read PATH VOCABULARY\n");
      return 2;
    }
    return 0;
  } catch (const bp::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
