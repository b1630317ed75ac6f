#include "trainer/commands/answer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/input_error.h"
#include "base/quoted.h"
#include "base/refuse.h"
#include "base/system/output_place.h"
#include "base/system/process_limit.h"
#include "base/text.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "trainer/model/config.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

bool is_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, fits);
}

// `names`: those of bert_train, and then those of the program.
void check_names(const std::string& what, std::vector<std::string> names) {
  for (const std::string& name : names) {
    if (is_name(name)) continue;
    refuse(concat("the ", what, " '", name,
                  "' needs a name of small letters, digits, - and _, with a letter first"));
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(concat("two ", what, "s are called '", *twice, "'"));
}

constexpr int kExitInternal = 70;

// Before the rendezvous all ranks have the same text to print, and rank 0 prints it.
bool prints_before_rendezvous() {
  try {
    return Environment::current().topology.rank == 0;
  } catch (const Error&) {
    return true;  // Communicator::create() will report the error
  }
}

// All ranks have the same problem, and rank 0 prints it. It has to end first: bprun then stops the
// others, as it would stop a rank 0 that begins later than they end.
void print_or_wait(bool prints, const std::string& text, const std::string& hint) {
  constexpr std::chrono::seconds kLongest{5};
  if (prints) return print_problem(text, hint);
  std::this_thread::sleep_for(kLongest);
}

}  // namespace

void check(const Extensions& extensions) {
  check_names("task", task_names(extensions));
  for (const auto& task : extensions.tasks) {
    check_names("answer", task->answers());
    check_names("figure", task->figures());
  }
  std::vector<std::string> models = preset_names();
  for (const CustomModel& own : extensions.models) models.push_back(own.name);
  check_names("model", models);
  check_names("optimizer", optimizer_names(extensions));
  check_names("schedule", schedule_names(extensions));
}

// One line each, whatever a label or a name of a file in it holds.
void print_problem(const std::string& text, const std::string& hint) {
  std::fprintf(stderr, "bert_train: %s\n", quoted_line(text, text.size()).c_str());
  if (!hint.empty()) std::fprintf(stderr, "hint: %s\n", quoted_line(hint, hint.size()).c_str());
}

void require_writable(const std::string& file, const std::string& option) {
  if (file.empty()) return;
  const std::string problem = output_problem(file);
  if (problem.empty()) return;
  throw InputError(2, concat(option, ": cannot write ", file, ": ", problem),
                   "name a file in a folder that exists and that you may write to");
}

void print_text(const std::string& text) {
  std::fputs(printable(text).c_str(), stdout);
  std::fflush(stdout);
}

void print_line(const std::string& text) { print_text(text + '\n'); }

Say say_on_rank_0(const Communicator& world) {
  if (world.rank() == 0) return print_line;
  return [](const std::string&) {};
}

std::optional<int> answer(const std::vector<std::string>& arguments,
                          const Extensions& extensions,
                          CommandLine& line) {
  const bool prints = prints_before_rendezvous();
  try {
    require_large_stacks();
    check(extensions);
    line = parse_command_line(arguments, extensions);
  } catch (const InputError& error) {
    print_or_wait(prints, error.what(), error.hint());
    return error.exit_code();
  } catch (const Error& error) {
    print_or_wait(prints, error.what(), "");
    return kExitInternal;
  }
  if (line.instead.empty()) return std::nullopt;
  if (prints) std::fputs(line.instead.c_str(), stdout);
  return 0;
}

}  // namespace bp::trainer
