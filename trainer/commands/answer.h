// Prints what needs no LibTorch: bert_train's help, and errors in its arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

// Parses the arguments into `line`. If they ask for a text, or are wrong, this prints what there is
// to say, on one rank of a job, and returns the exit code of the program.
[[nodiscard]] std::optional<int> answer(const std::vector<std::string>& arguments,
                                        const Extensions& extensions,
                                        CommandLine& line);

// Prints "bert_train: TEXT" and, unless `hint` is empty, "hint: HINT".
void print_problem(const std::string& text, const std::string& hint);

}  // namespace bp::trainer
