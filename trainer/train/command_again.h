// The command that goes on with a run, to be copied into a shell.
#pragma once

#include <string>
#include <vector>

#include "bp/topology.h"

namespace bp::trainer {

struct Launched {
  std::string program;  // as it was called
  std::string bprun;    // how to call it; empty where it did not start this
  Topology topology;
};

// The arguments as they were typed, with --resume auto where they said otherwise.
[[nodiscard]] std::vector<std::string> arguments_again(std::vector<std::string> arguments);

// The program with these; under bprun with bprun, its hosts and their ranks before them. Other
// options of bprun's are not known here.
[[nodiscard]] std::string command_again(const Launched& launched,
                                        const std::vector<std::string>& arguments);

// "bprun" where it is on PATH, else its path beside this program.
[[nodiscard]] std::string find_bprun();

// As one word of a shell.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace bp::trainer
