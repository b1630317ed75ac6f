// Compares SPACE with the options that a program has, before anything starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/sweep/space/space.h"

namespace bp::launcher::sweep {

// Throws invalid_argument, with the line of `space`, if a parameter of the block is not an option
// of the program or if a value does not fit it. `help` is what the program printed for --help=json.
// `words` is the program with its arguments: a parameter that a {NAME} in them takes is not
// checked, and one that they give a value of their own is refused. Pure.
void check_parameters(const std::string& space,
                      const Block& block,
                      const std::vector<std::string>& words,
                      const std::string& help);

// Returns what `program --help=json` prints, with the --task of its arguments, if the program is
// bert_train or extends it (docs/tasks.md); nothing for another program. Only a file that is called
// bert_train, or contains the name of bp::run_bert_train(), is asked: another program may not know
// --help=json, and start its work. Throws what ask_program() throws. `stop`: as its.
[[nodiscard]] std::optional<std::string> options_of_trainer(const std::vector<std::string>& program,
                                                            int stop = -1);

}  // namespace bp::launcher::sweep
