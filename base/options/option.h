// A row of the table of a command's options.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"

namespace bp {

// The value of another option, without which an option has no effect and is refused.
struct Need {
  std::string option;                    // "lora"
  std::string choice;                    // for the hint: "8", or what to choose if there are values
  std::vector<std::string> values = {};  // it has one of these; none: any that is not off
};

struct Option {
  std::string name;  // "batch"; one letter: behind one dash; a positional argument is in capitals
  std::string letter = {};         // "q", for -q beside --quiet
  std::string type = {};           // text, path, list, paths, flag, integer, number, choice, ...
  std::string topic = {};          // "training", as --help takes it
  std::string value = {};          // what --help shows for the value: "DIR"
  std::string default_value = {};  // as --help shows it, perhaps in words
  std::string help = {};
  std::vector<std::string> choices = {};    // all values that there are; empty: others exist
  std::vector<std::string> suggested = {};  // some of the values that there are
  std::optional<double> least = {};
  std::optional<double> most = {};
  bool whole = false;  // its numbers have no fraction
  bool positional = false;
  bool required = false;
  bool repeatable = false;  // it may be given several times
  // What stands for the value where none is given: --kill-silent. A value needs = then.
  std::string bare = {};
  // What other programs call it, perhaps with a value of this one behind =: {"fp16=fp16"}. A user
  // who types such a name is told of this option.
  std::vector<std::string> others = {};
  OnResume on_resume = OnResume::free;
  std::optional<Need> needs = {};
  std::vector<std::string> aliases = {};  // words that mean the same: {"-np", "--num-proc"}

  // Sets the option's target to what was given. Returns it as settings show it.
  std::function<std::string(const std::vector<std::string>&)> assign = {};
  std::string usual = {};  // its default as settings show it; may be empty
  std::string now = {};    // and its value

  [[nodiscard]] std::string spelled() const {  // "--batch", "-n", "DATA"
    return (positional ? "" : name.size() == 1 ? "-" : "--") + name;
  }
};

}  // namespace bp
