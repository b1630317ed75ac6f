// Parses options that training and the commands about trained models share.
#pragma once

#include <string>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/commands/command_line.h"
#include "trainer/commands/option_groups.h"

namespace bp::trainer {

// Sets the task of `options`, which decides which other options there are, and `extensions`. The
// task is the one that is typed, or in the file of --config, or, for a command about a trained
// model, of the run that is an argument; else the default.
void choose_task(const std::vector<std::string>& arguments,
                 const Extensions& extensions,
                 Options& options);

// Parses `arguments` with `set`, whose targets are `options`. Options in the file of --config come
// before those in `arguments`. Throws InputError (2).
[[nodiscard]] CommandLine parse(OptionSet& set,
                                const std::vector<std::string>& arguments,
                                Options& options);

}  // namespace bp::trainer
