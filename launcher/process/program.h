// Finds the file that a program's name means.
#pragma once

#include <string>

namespace bp::launcher {

struct ProgramSearch {
  std::string path = {};    // the value of PATH
  std::string beside = {};  // bprun's own folder, which is tried last
};

struct Program {
  std::string file;   // empty if there is no file to run
  int exit_code = 0;  // 126: exists but is not executable; 127: not found
  std::string
      problem;  // one line, without the program's name: where it was looked for, and why not
};

// Finds the file for `name`. A name with a slash is a path. Any other name is looked up on PATH,
// then in bprun's own folder, and never in the working directory, as in a shell; if it is there,
// the problem's text says so.
[[nodiscard]] Program find_program(const std::string& name, const ProgramSearch& search);

// Both take the errno of a failed fork() or execve(): the exit code that a shell would return, or
// 70 if the machine allows no more processes, and the reason.
[[nodiscard]] int exit_code_of_exec_error(int error);
[[nodiscard]] std::string exec_error_text(int error);

[[nodiscard]] std::string own_program();  // the executable of this process

}  // namespace bp::launcher
