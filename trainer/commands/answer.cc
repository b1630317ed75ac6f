#include "trainer/commands/answer.h"

#include <cstdio>

#include "base/quoted.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "trainer/commands/extension_check.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {
namespace {

constexpr int kExitInternal = 70;

// Before the rendezvous all ranks have the same text to print, and rank 0 prints it.
bool prints_before_rendezvous() {
  try {
    return Environment::current().topology.rank == 0;
  } catch (const Error&) {
    return true;  // Communicator::create() will report the error
  }
}

}  // namespace

void print_problem(const std::string& text, const std::string& hint) {
  std::fprintf(stderr, "bert_train: %s\n", printable(text).c_str());
  if (!hint.empty()) std::fprintf(stderr, "hint: %s\n", printable(hint).c_str());
}

std::optional<int> answer(const std::vector<std::string>& arguments,
                          const Extensions& extensions,
                          CommandLine& line) {
  const bool prints = prints_before_rendezvous();
  try {
    check(extensions);
    line = parse_command_line(arguments, extensions);
  } catch (const InputError& error) {
    if (prints) print_problem(error.what(), error.hint());
    return error.exit_code();
  } catch (const Error& error) {
    if (prints) print_problem(error.what(), "");
    return kExitInternal;
  }
  if (line.instead.empty()) return std::nullopt;
  if (prints) std::fputs(line.instead.c_str(), stdout);
  return 0;
}

}  // namespace bp::trainer
