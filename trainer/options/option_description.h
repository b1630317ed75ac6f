// What is known about an option beside its value, for --help=json and completion.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bp::trainer {

struct OptionDescription {
  std::string name;                // "batch"; a positional argument has a name in capitals
  std::string type = {};           // text, path, list, paths, flag, integer, number or choice
  std::string topic = {};          // "training", as --help takes it
  std::string value = {};          // what --help shows for the value: "DIR"
  std::string default_value = {};  // as --help shows it, perhaps in words
  std::string help = {};
  std::vector<std::string> choices = {};    // all values that there are; empty: others exist
  std::vector<std::string> suggested = {};  // some of the values that there are
  std::optional<double> least = {};
  std::optional<double> most = {};
  bool positional = false;
  bool required = false;
  bool repeatable = false;  // it may be given several times
};

struct CommandDescription {
  std::string command;  // "bert_train eval"
  std::string about;
  std::vector<OptionDescription> options;
};

}  // namespace bp::trainer
