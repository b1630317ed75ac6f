// Which file a program's name means.
#pragma once

#include <string>

namespace bp::launcher {

struct ProgramSearch {
  std::string path;    // the value of PATH
  std::string beside;  // the folder that is tried last: bprun's own
};

struct Program {
  std::string file;   // absolute or as given; empty when there is none to run
  int exit_code = 0;  // 126: there, but not executable; 127: not found
  std::string
      problem;  // one line, without the program's name: where it was looked for, and why not
};

// A name with a slash is a path. Others are looked for on PATH, then beside bprun, never in the
// working directory (as in a shell), which the problem's text then says.
[[nodiscard]] Program find_program(const std::string& name, const ProgramSearch& search);

// For an errno that execve gave: what a shell would exit with, and why it was.
[[nodiscard]] int exit_code_of_exec_error(int error);
[[nodiscard]] std::string exec_error_text(int error);

[[nodiscard]] std::string own_program();  // the file that this process runs

}  // namespace bp::launcher
