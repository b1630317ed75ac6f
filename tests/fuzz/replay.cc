// fuzz_replay TARGET FOLDER calls a fuzz target once for each file of the folder, without
// libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "fuzz.h"

namespace {

std::map<std::string, bp::test::FuzzTarget*>& targets() {
  static std::map<std::string, bp::test::FuzzTarget*> targets;
  return targets;
}

}  // namespace

int bp::test::register_target(const char* name, FuzzTarget* target) {
  targets().emplace(name, target);
  return 0;
}

int main(int argc, char** argv) {
  const auto target = argc == 3 ? targets().find(argv[1]) : targets().end();
  if (target == targets().end()) {
    std::fprintf(stderr, "fuzz_replay: give a target and a folder\n");
    return 2;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    target->second(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++files;
  }
  std::printf("%d files\n", files);
  return files == 0 ? 1 : 0;
}
