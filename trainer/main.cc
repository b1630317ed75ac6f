// bert_train: see docs/bert_train.md, or bert_train --help.
//
// LibTorch takes 0.15 s to load, so this program prints the help, and what is wrong with its
// arguments, without it. For all else it opens libbp_trainer.so.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/system/plugin.h"
#include "base/system/standard_output.h"
#include "base/text.h"
#include "bp/trainer/run.h"
#include "trainer/commands/answer.h"

namespace {

constexpr int kExitUnavailable = 69;
constexpr const char* kRun = "_ZN2bp14run_bert_trainEiPPcRKNS_10ExtensionsE";  // in the library

// Returns the library's run_bert_train(), or null, and then why in `problem`.
decltype(&bp::run_bert_train) open_trainer(std::string& problem) {
  const bp::FoundPlugin library = bp::find_library("libbp_trainer.so");
  if (library.path.empty()) {
    problem = bp::concat("libbp_trainer.so was not found in: ", library.tried);
    return nullptr;
  }
  const bp::OpenedPlugin opened = bp::open_plugin(library.path, kRun);
  problem = opened.entry != nullptr || !opened.problem.empty()
                ? opened.problem
                : bp::concat(library.path, " belongs to another version of bp");
  return reinterpret_cast<decltype(&bp::run_bert_train)>(opened.entry);
}

// If the loader could not map a library, the library itself is whole.
std::string hint_for(const std::string& problem) {
  const std::string text = bp::lower_case(problem);
  for (const char* const sign : {"failed to map segment", "cannot allocate memory"}) {
    if (text.find(sign) == std::string::npos) continue;
    return "too little address space or memory is allowed: try ulimit -v unlimited, or give the "
           "job or container more memory";
  }
  return "install bp again as a whole";
}

}  // namespace

int main(int argc, char** argv) {
  bp::begin_output();
  bp::trainer::CommandLine line;
  const std::optional<int> code = bp::trainer::answer({argv + 1, argv + argc}, {}, line);
  if (code) return bp::end_output("bert_train", *code);
  std::string problem;
  if (const auto run = open_trainer(problem)) run(argc, argv, {});
  bp::trainer::print_problem(problem, hint_for(problem));
  return kExitUnavailable;
}
