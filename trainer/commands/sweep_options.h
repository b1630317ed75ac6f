// The command line of `bert_train sweep`, whose options are those of `bprun sweep`.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

// SPACE.yaml and options of bprun sweep, then -- and the command line of a training. The training's
// options become those of the result, so that its task is known. Throws InputError (2).
[[nodiscard]] CommandLine parse_sweep(const std::vector<std::string>& arguments,
                                      const Extensions& extensions);

}  // namespace bp::trainer
