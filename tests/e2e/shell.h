// Runs shell commands and collects their output.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "base/text.h"

namespace bp::test {

struct Ended {
  int code = -1;
  std::string output;  // of stdout and stderr
};

// Runs a shell command, which must not contain single quotes. `timeout` ends it after 240 s.
inline Ended shell(const std::string& command) {
  Ended ended;
  FILE* pipe = ::popen(concat("timeout -k 5 240 sh -c 'exec 2>&1; ", command, "'").c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> piece{};
  while (std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) {
    ended.output.append(piece.data(), n);
  }
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace bp::test
