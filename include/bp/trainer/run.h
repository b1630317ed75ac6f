// bert_train as a library: a program of its own adds tasks, models, optimizers and schedules to it,
// and then has all of its commands and options.
//
//   int main(int argc, char** argv) {
//     bp::run_bert_train(argc, argv, {.tasks = {std::make_shared<Emphasis>()}});
//   }
//
// examples/own_task is such a program. Hints that it prints name the command "bert_train".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/export.h"
#include "bp/trainer/custom_optimizer.h"
#include "bp/trainer/custom_task.h"

namespace BP_API bp {

// A size of BERT.
struct CustomModel {
  std::string name;  // that --model chooses it by
  int layers = 2;
  int hidden = 128;  // a multiple of `heads`
  int heads = 2;
  int intermediate = 512;
};

// Names must differ from those that bert_train has.
struct Extensions {
  std::vector<std::shared_ptr<const CustomTask>> tasks = {};
  std::vector<CustomModel> models = {};
  std::vector<std::shared_ptr<const CustomOptimizer>> optimizers = {};
  std::vector<CustomSchedule> schedules = {};
};

// Runs the command that the arguments ask for, alone or as a rank of a job (bprun), and ends the
// process with its exit code. Static objects are not destroyed. Call it once, from main().
[[noreturn]] void run_bert_train(int argc, char** argv, const Extensions& extensions = {});

}  // namespace bp
