// Answers without LibTorch: prints help, errors in the arguments, and lines of commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bp/trainer/run.h"
#include "trainer/commands/command_line.h"
#include "trainer/common/say.h"

namespace bp::trainer {

// Parses the arguments into `line`. If they ask for a text, or are wrong, this prints what there is
// to say, on one rank of a job, and returns the exit code of the program.
[[nodiscard]] std::optional<int> answer(const std::vector<std::string>& arguments,
                                        const Extensions& extensions,
                                        CommandLine& line);

// Prints "bert_train: TEXT" and, unless `hint` is empty, "hint: HINT".
void print_problem(const std::string& text, const std::string& hint);

// Write to stdout what people read: nothing in it controls a terminal. print_line() adds a line
// feed.
void print_text(const std::string& text);
void print_line(const std::string& text);
// Returns print_line() on rank 0, and on other ranks a function that does nothing.
[[nodiscard]] Say say_on_rank_0(const Communicator& world);

// Throws InputError (2) unless `option file` can be written, so that the error comes before hours
// of work and not after them. An empty name means no file.
void require_writable(const std::string& file, const std::string& option = "--out");

// Throws invalid_argument for a name that is invalid or that something else has.
void check(const Extensions& extensions);

}  // namespace bp::trainer
