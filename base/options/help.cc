#include "base/options/help.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "base/joined.h"
#include "base/nearest.h"
#include "base/options/variable_rows.h"
#include "base/text.h"
#include "bp/version.h"

namespace bp {
namespace {

// The column in which the text of a line begins: after an option's name, or after the indent.
std::size_t begin_of_text(std::string_view line, std::size_t columns) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const bool option = first < line.size() && line[first] == '-';
  const std::size_t gap = option ? line.find("  ", first) : std::string_view::npos;
  const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  if (text == std::string_view::npos || text >= columns / 2) {
    return option ? first + 4 : first;
  }
  return text;
}

// Where to break a line: at the last blank that fits. If that is in the first half of the line, at
// the last comma behind it, so that a long list of choices is broken too.
std::size_t break_of(std::string_view line, std::size_t indent, std::size_t columns) {
  const std::size_t blank = line.rfind(' ', columns);
  const std::size_t comma = line.rfind(',', columns - 1);
  const auto serves = [&](std::size_t at) { return at != std::string_view::npos && at > indent; };
  if (serves(blank) && (blank > columns / 2 || !serves(comma) || comma < blank)) {
    return blank;
  }
  return serves(comma) ? comma + 1 : std::string_view::npos;
}

void add_wrapped(std::string& out, std::string line, std::size_t columns) {
  const std::size_t indent = begin_of_text(line, columns);
  while (line.size() > columns) {
    const std::size_t at = break_of(line, indent, columns);
    if (at == std::string_view::npos) {
      break;  // a single word is wider than the line
    }
    out += line.substr(0, at);
    out += '\n';
    const std::size_t next = std::min(line.find_first_not_of(' ', at), line.size());
    line = std::string(indent, ' ') + line.substr(next);
  }
  out += line;
}

using Json = nlohmann::ordered_json;

constexpr std::size_t kTextColumn = 26;

// Returns the text with each paragraph on one line, because the sources break it where their own
// lines end. Empty lines and indented ones stay as they are.
std::string joined_paragraphs(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  bool open = false;  // a paragraph has begun
  for (std::string line; std::getline(lines, line);) {
    const bool of_paragraph = !line.empty() && line.front() != ' ';
    if (!all.empty()) all += open && of_paragraph ? ' ' : '\n';
    all += line;
    open = of_paragraph;
  }
  return all;
}

// The option's names and value, then what it does, from a common column on.
std::string help_line(const std::string& names, const std::string& help, const std::string& usual) {
  const std::string left = "  " + names;
  const std::string text = usual.empty() ? help : concat(help, " (default: ", usual, ")");
  std::string lines = wrap_help(concat(std::string(kTextColumn, ' '), text, "\n"));
  if (left.size() + 2 > kTextColumn) return concat(left, "\n", lines);
  return lines.replace(0, left.size(), left);
}

std::string help_line(const Option& option) {
  std::string names = option.letter.empty() ? "" : concat("-", option.letter, ",");
  names += option.spelled();
  if (option.type != "flag" && !option.bare.empty()) {
    names += concat("[=", option.value, "]");
  } else if (!option.value.empty()) {
    names += concat(" ", option.value);
  }
  return help_line(names, option.help, option.default_value);
}

std::string usage_of(const Option& option) {
  const std::string name = option.name + (option.repeatable ? "..." : "");
  return option.required ? name : concat("[", name, "]");
}

// Whole numbers have no ".0".
Json number_json(double value) {
  if (value == std::trunc(value)) return static_cast<std::int64_t>(value);
  return value;
}

Json option_json(const Option& option) {
  Json json{{"name", option.name},
            {"type", option.type},
            {"topic", option.topic},
            {"value", option.value},
            {"default", option.default_value},
            {"help", option.help},
            {"positional", option.positional},
            {"required", option.required},
            {"repeatable", option.repeatable}};
  if (!option.letter.empty()) json["letter"] = option.letter;
  if (!option.bare.empty() && option.type != "flag") json["bare"] = option.bare;
  if (!option.choices.empty()) json["choices"] = option.choices;
  if (!option.suggested.empty()) json["suggested"] = option.suggested;
  if (option.least) json["least"] = number_json(*option.least);
  if (option.most) json["most"] = number_json(*option.most);
  if (option.least && option.type == "list") json["whole"] = option.whole;
  if (!option.others.empty()) json["others"] = option.others;
  return json;
}

// Returns the option of compgen that offers the values, or "" if there is nothing to offer.
std::string compgen_of(const Json& option) {
  const std::string type = option["type"];
  const std::string value = option["value"];
  for (const char* list : {"choices", "suggested"}) {
    if (!option.contains(list)) continue;
    const auto words = option[list].get<std::vector<std::string>>();
    const bool or_path = list == std::string_view("suggested") && type == "path";
    return concat(or_path ? "-f -W '" : "-W '", joined(words, " "), "'");
  }
  if (value == "DIR" || value == "FOLDER") return "-d";
  if (value.starts_with("HOST")) return "-A hostname";
  return type == "path" || type == "paths" ? "-f" : "";
}

}  // namespace

std::vector<std::string> OptionSet::topics() const {
  std::vector<std::string> topics;
  for (const Option& option : options_) {
    if (!option.positional && option.assign && std::ranges::count(topics, option.topic) == 0) {
      topics.push_back(option.topic);
    }
  }
  return topics;
}

std::string OptionSet::help(const std::string& topic) const {
  if (topic == "json") return help_json(command_, Json::array({to_json(*this)}));
  const std::vector<std::string> known = topics();
  const bool divided = known.size() > 1;
  const std::string wanted = divided ? lower_case(topic) : "";
  if (!wanted.empty() && std::ranges::count(known, wanted) == 0) {
    const std::string nearest = nearest_name(wanted, known);
    throw InputError(2, concat("--help: there is no topic '", topic, "'"),
                     nearest.empty() ? concat("the topics: ", joined(known, ", "), ", json")
                                     : concat("did you mean '", nearest, "'?"));
  }
  std::string usage;
  std::string positional;
  std::string options =
      divided ? help_line("-h,--help [TOPIC|json]",
                          "Print this text, one topic of it, or all as JSON, and end", "")
              : help_line("-h,--help [json]", "Print this text, perhaps as JSON, and end", "");
  options += help_line("--version", "Print the version and end", "");
  for (const Option& option : options_) {
    if (!option.positional) continue;
    usage += " " + usage_of(option);
    positional += help_line(option.name, option.help, option.default_value);
  }
  std::string sections;  // behind those
  std::string heading = "options";
  for (const Option& option : options_) {
    if (option.positional || (!wanted.empty() && option.topic != wanted)) continue;
    if (option.topic == "options" && wanted.empty()) {
      options += help_line(option);
      continue;
    }
    if (option.topic != heading || sections.empty()) {
      heading = option.topic;
      std::string title = heading;
      title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
      sections += concat(sections.empty() ? "" : "\n", title, ":\n");
    }
    sections += help_line(option);
  }
  std::string text = wanted.empty() ? wrap_help(joined_paragraphs(about_)) : "";
  if (wanted.empty()) {
    text +=
        concat("\nUsage: ", usage_.empty() ? concat(command_, " [OPTIONS]", usage) : usage_, "\n");
    if (!positional.empty()) text += "\nPositionals:\n" + positional;
    text += concat("\nOptions:\n", options, sections.empty() ? "" : "\n");
    if (!footer_.empty()) sections += "\n" + footer_;
  }
  text += sections;
  if (divided) {
    text += concat("\nTopics (--help TOPIC):\n  ", joined(known, ", "), "\n");
  }
  return text;
}

std::string variables_help() {
  std::string text = "Variables:\n";
  for (const VariableRow& row : variables_of_users()) {
    text +=
        help_line(concat(row.name, " ", row.value), std::string(row.help), std::string(row.usual));
  }
  return text;
}

Json to_json(const OptionSet& set) {
  Json options = Json::array();
  for (const Option& option : set.options()) options.push_back(option_json(option));
  return {{"command", set.command()}, {"about", set.about()}, {"options", options}};
}

std::string help_json(const std::string& program, const Json& commands) {
  const Json all = {{"program", program.substr(0, program.find(' '))},
                    {"version", BP_VERSION},
                    {"commands", commands}};
  return all.dump(2) + "\n";
}

BashWords bash_words(const Json& options) {
  BashWords words{.options = "--help", .valued = "", .values = ""};
  std::string others;
  for (const Json& option : options) {
    if (option["positional"]) continue;
    const std::string name = option["name"];
    std::string word = (name.size() == 1 ? "-" : "--") + name;
    words.options += " " + word;
    if (option.contains("letter")) words.options += " -" + option["letter"].get<std::string>();
    if (option["type"] == "flag" || option.contains("bare")) continue;
    words.valued += " " + word;
    const std::string how = compgen_of(option);
    if (how.empty()) {
      others += concat(others.empty() ? "" : " | ", word);
    } else {
      words.values +=
          concat("        ", word, ") COMPREPLY=($(compgen ", how, " -- \"$word\")); return ;;\n");
    }
  }
  if (!others.empty()) words.values += concat("        ", others, ") return ;;\n");
  return words;
}

std::string wrap_help(std::string_view help, std::size_t columns) {
  std::string out;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    add_wrapped(out, std::string(help.substr(0, end)), columns);
    if (end < help.size()) {
      out += '\n';
    }
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return out;
}

}  // namespace bp
