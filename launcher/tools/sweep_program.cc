#include "launcher/tools/sweep_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/quoted.h"
#include "launcher/process/program.h"

namespace bp::launcher {

std::optional<int> become_sweep(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "sweep") {
    return std::nullopt;
  }
  std::string file = std::filesystem::path(own_program()).parent_path() / "bprun-sweep";
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{file.data()};
  for (std::size_t i = 1; i < words.size(); ++i) {
    argv.push_back(words[i].data());
  }
  argv.push_back(nullptr);
  ::execv(file.c_str(), argv.data());
  const int error = errno;
  std::fprintf(stderr, "bprun: cannot run %s: %s\n  hint: it belongs beside bprun\n",
               printable(file).c_str(), exec_error_text(error).c_str());
  return exit_code_of_exec_error(error);
}

}  // namespace bp::launcher
