// The options of one command, parsed by CLI11: typed targets, checked values, and a record of every
// value with its origin.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/per_epoch.h"
#include "trainer/options/config_file.h"
#include "trainer/options/option_description.h"
#include "trainer/report/setting.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bp::trainer {

// How --help shows an option, and how settings name it.
struct OptionText {
  std::string name;  // "batch"; a name in capitals is a positional argument
  std::string help;
  std::string shown_default = {};           // instead of the target's value
  std::string value_name = "TEXT";          // of texts
  std::vector<std::string> suggested = {};  // some values of a text, for completion
};

class OptionSet {
 public:
  // `command`: what is typed before the options, "bert_train eval".
  OptionSet(const std::string& command, const std::string& about, const std::string& footer);
  ~OptionSet();
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  // Sets the heading in --help for the options that are added after this call.
  void group(const std::string& heading);

  // Each function adds an option. Its target must live until parse() returns.
  void text(const OptionText& text, std::string& target);  // a positional one is required
  void optional_text(const OptionText& text, std::string& target);
  // The same for a file or folder. A leading ~ is replaced by the user's home (see expand_home).
  void path(const OptionText& text, std::string& target);
  void optional_path(const OptionText& text, std::string& target);
  // One or more files as positional arguments; at least one is required.
  void positional_paths(const OptionText& text, std::vector<std::string>& target);
  // Names with commas between them. Blanks around them do not count; an empty name and one that
  // occurs twice are refused.
  void list(const OptionText& text, std::vector<std::string>& target);
  // Files or folders, each behind its own option or with commas between them.
  void paths(const OptionText& text, std::vector<std::string>& target);
  void flag(const OptionText& text, bool& target);
  // Shows an option in --help that the caller handles before parse(). It is no setting.
  void mention(const OptionText& text);
  // A target below `least` means that nothing was chosen; settings() has no value then.
  template <class Number>
  void number(const OptionText& text, Number& target, double least, double most);
  // Numbers with commas between them, one for each epoch.
  template <class Number>
  void numbers(const OptionText& text, PerEpoch<Number>& target, double least, double most);
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

  // Adds values of a file for parse(); those of the command line win. Throws InputError (2) with
  // the nearest option for an unknown key, and for a flag that is neither true nor false.
  void preset(const std::vector<ConfigValue>& values, const std::string& origin);

  // Sets the targets. Returns the text of the help or the version if `arguments` ask for it, else
  // "". Help may be that of one topic, or JSON. Throws InputError (2) with the nearest option,
  // value or topic, and the line of the file if the value comes from one.
  [[nodiscard]] std::string parse(const std::vector<std::string>& arguments);
  // Calls `use`, which reads the value of this option. If the value comes from a file, an
  // InputError that `use` throws gets the line of the file. Only after parse().
  void use(const std::string& name, const std::function<void()>& use) const;
  // Returns arguments that give these options the values that `settings` has for them.
  [[nodiscard]] std::vector<std::string> arguments(const std::vector<Setting>& settings) const;
  // Returns all options except --help. Only after parse().
  [[nodiscard]] std::vector<Setting> settings() const;
  [[nodiscard]] bool given(const std::string& name) const;
  // Throws InputError (2) unless the option has a value.
  void require(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  // Returns every option except --help and --version, in the order in which they were added.
  [[nodiscard]] CommandDescription describe() const;

 private:
  struct Entry {
    OptionText text;
    CLI::Option* option = nullptr;
    std::function<std::string()> value;
    std::function<void(const std::string&)> assign = {};  // positional ones only
    bool preset = false;
    bool is_flag = false;
    bool is_list = false;    // it may be given several times
    std::string place = {};  // of a preset value: "my.yaml, line 3"
    OptionDescription described = {};
  };
  // Adds an entry that describe() shows with this type.
  Entry& add(Entry entry, const std::string& type);
  [[nodiscard]] std::string help(const std::string& topic) const;
  [[nodiscard]] std::vector<std::string> topics() const;
  [[nodiscard]] std::string origin_of(const Entry& entry) const;
  void add_choice(const OptionText& text,
                  const std::vector<std::string>& names,
                  const std::string& now,
                  std::function<void(const std::string&)> set);
  [[noreturn]] void refuse_extras(const std::vector<std::string>& extras) const;
  [[noreturn]] void refuse_unknown(const std::string& argument) const;
  [[nodiscard]] std::string help_hint() const;
  [[nodiscard]] std::string joined(const std::string& name) const;

  std::string command_;
  std::unique_ptr<CLI::App> app_;
  std::string about_;
  std::vector<Entry> entries_;
  std::vector<OptionDescription> mentioned_;
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
