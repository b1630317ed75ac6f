// Runs a program on this machine for what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/process/program.h"

namespace bp::launcher::sweep {

// Finds a program as a trial finds it. `environment` has its PATH.
[[nodiscard]] Program find_program_here(const std::string& name,
                                        const std::vector<std::string>& environment);

struct Question {
  std::vector<std::string> words;  // the program, found as for a trial, and its arguments
  std::vector<std::string> environment = {};  // NAME=VALUE; added to this process's
  bool with_errors = false;  // whether stderr belongs to the answer; else it is lost
  std::chrono::milliseconds limit = std::chrono::minutes{1};
  int stop = -1;  // a descriptor at whose input the wait ends; -1: none
};

struct Answer {
  int exit_code = -1;  // -1: it was killed, or still ran at the limit
  std::string text;    // all that it has printed
};

// Blocks until the program has ended, or kills it after the limit. Throws invalid_argument if the
// program is not found, io if it cannot be started, and aborted if `stop` has input; the program is
// then killed.
[[nodiscard]] Answer ask_program(const Question& question);

}  // namespace bp::launcher::sweep
