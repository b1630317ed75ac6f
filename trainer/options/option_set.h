// Options of one command over CLI11: typed targets, checked values, and a record of every value
// with where it came from.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/options/config_file.h"
#include "trainer/report/report.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bp::trainer {

// What --help shows and how settings name it.
struct OptionText {
  std::string name;  // "batch"; a name in capitals is a positional argument
  std::string help;
  std::string shown_default = {};   // instead of the target's value
  std::string value_name = "TEXT";  // of texts
};

class OptionSet {
 public:
  // `command`: what is typed before the options, "bert_train eval".
  OptionSet(const std::string& command, const std::string& about, const std::string& footer);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  // The heading in --help for what is added from here on.
  void group(const std::string& heading);

  // Targets must live until parse() is done.
  void text(const OptionText& text, std::string& target);  // a positional one must be given
  void optional_text(const OptionText& text, std::string& target);
  // The same for a file or folder: a leading ~ is the user's home (see expand_home).
  void path(const OptionText& text, std::string& target);
  void optional_path(const OptionText& text, std::string& target);
  void flag(const OptionText& text, bool& target);
  template <class Number>
  void number(const OptionText& text, Number& target, double least, double most);
  template <class Choice>
  void choice(const OptionText& text,
              Choice& target,
              const std::vector<std::pair<std::string, Choice>>& choices) {
    std::vector<std::string> names;
    std::string now;
    for (const auto& [name, value] : choices) {
      names.push_back(name);
      if (value == target) now = name;
    }
    add_choice(text, names, now, [&target, choices](const std::string& chosen) {
      for (const auto& [name, value] : choices) {
        if (name == chosen) target = value;
      }
    });
  }

  // Values for parse() from a file; those of the command line win. Throws InputError (2) for a key
  // that is none of the options, naming the nearest, and for a flag that is neither true nor false.
  void preset(const std::vector<ConfigValue>& values, const std::string& origin);

  // Sets the targets. Returns what was asked for instead of work, the help or the version, else
  // nothing. Throws InputError (2) that names the nearest right option or value, and the line of
  // the file that a value comes from.
  [[nodiscard]] std::string parse(const std::vector<std::string>& arguments);
  // Calls `use`, which reads the value of this option. An InputError that it throws gets the line
  // of the file that the value comes from, if it comes from one. After parse().
  void use(const std::string& name, const std::function<void()>& use) const;
  // Of all options but --help, after parse().
  [[nodiscard]] std::vector<Setting> settings() const;
  [[nodiscard]] bool given(const std::string& name) const;

 private:
  struct Entry {
    OptionText text;
    CLI::Option* option = nullptr;
    std::function<std::string()> value;
    std::function<void(const std::string&)> assign = {};  // positional ones only
    bool preset = false;
    bool is_flag = false;
    std::string place = {};  // of a preset value: "my.yaml, line 3"
  };
  [[nodiscard]] std::string origin_of(const Entry& entry) const;
  void add_choice(const OptionText& text,
                  const std::vector<std::string>& names,
                  const std::string& now,
                  std::function<void(const std::string&)> set);
  [[noreturn]] void refuse_unknown(const std::string& argument) const;
  [[nodiscard]] std::string help_hint() const;

  std::string command_;
  std::unique_ptr<CLI::App> app_;
  std::vector<Entry> entries_;
  std::vector<std::string> preset_arguments_;
  std::string preset_origin_;
  std::deque<std::string> chosen_;  // the text of each choice
  struct Step {
    std::string option;
    std::function<void()> run;
  };
  std::vector<Step> after_;
  std::string group_ = "Options";
};

}  // namespace bp::trainer
