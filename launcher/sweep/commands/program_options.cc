#include "launcher/sweep/commands/program_options.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/environment_list.h"
#include "launcher/sweep/commands/ask_program.h"

namespace bp::launcher::sweep {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_parameter(const std::string& space, int line, const std::string& text) {
  throw Error(ErrorCode::invalid_argument, concat(space, ", line ", line, ": ", text));
}

std::string problem_with_number(const Value& value, const Json& option, bool whole) {
  if (!value.is_number() || (whole && value.kind() != Value::Kind::integer)) {
    return whole ? "takes whole numbers" : "takes numbers";
  }
  if (option.contains("least") && value.number() < option["least"].get<double>()) {
    return concat("must be at least ", option["least"].get<double>());
  }
  if (option.contains("most") && value.number() > option["most"].get<double>()) {
    return concat("must be at most ", option["most"].get<double>());
  }
  return "";
}

// Why the option cannot have this value; empty if it can.
std::string problem_with(const Value& value, const Json& option) {
  const std::string type = option.value("type", "text");
  if (type == "flag") {
    return value.kind() == Value::Kind::boolean ? "" : "takes true or false";
  }
  if (const auto choices = option.find("choices"); choices != option.end() && !choices->empty()) {
    return std::ranges::find(*choices, Json(value.text())) != choices->end()
               ? ""
               : concat("must be one of ", choices->dump());
  }
  if (type == "list" && option.contains("whole")) {  // of numbers
    for (const std::string& one : split_at_commas(value.text())) {
      const Value number = Value::of_scalar(one);
      const std::string problem = problem_with_number(number, option, option["whole"]);
      if (!problem.empty()) return problem;
    }
    return "";
  }
  if (type != "integer" && type != "number") return "";
  return problem_with_number(value, option, type == "integer");
}

// Returns a hint for a parameter that the program does not have, or "".
std::string hint_for(const std::string& name, const Json& options) {
  std::vector<std::string> names;
  for (const Json& option : options) {
    if (option.value("positional", false)) continue;
    names.push_back(option.value("name", ""));
    const auto value =
        value_of_other_name(option.value("others", std::vector<std::string>()), option_name(name));
    if (!value) continue;
    return concat("; here it is called ", names.back(), value->empty() ? "" : ", with the value ",
                  *value);
  }
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : concat("; did you mean ", nearest, "?");
}

// All values of the parameter that can be counted; of the others the lowest and the highest.
std::vector<Value> values_of(const Dimension& dimension, std::size_t name) {
  std::vector<Value> values;
  if (dimension.size() == 0) {
    return {Value::of_real(dimension.low), Value::of_real(dimension.high)};
  }
  if (dimension.kind == Dimension::Kind::choice) {
    for (const auto& row : dimension.rows) values.push_back(row.at(name));
    return values;
  }
  return {dimension.values(0).at(name), dimension.values(dimension.size() - 1).at(name)};
}

bool gives(const std::vector<std::string>& words, const std::string& option) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == option || word.starts_with(option + "=");
  });
}

void check_parameter(const std::string& space,
                     const Dimension& dimension,
                     std::size_t position,
                     const Json& options,
                     const std::string& program) {
  const std::string& name = dimension.names[position];
  const auto option = std::ranges::find_if(options, [&](const Json& it) {
    return it.value("name", "") == name && !it.value("positional", false);
  });
  if (option == options.end()) {
    refuse_parameter(space, dimension.line,
                     concat(program, " has no option --", name, hint_for(name, options)));
  }
  if (name == "run") {
    refuse_parameter(space, dimension.line,
                     "--run has no place in a sweep: each trial has a run in its own folder");
  }
  for (const Value& value : values_of(dimension, position)) {
    if (const std::string problem = problem_with(value, *option); !problem.empty()) {
      refuse_parameter(space, dimension.line,
                       concat("--", name, " ", value.text(), ": the option ", problem));
    }
  }
}

// Whether the program's file has the name of the function by which bert_train is started. A program
// that is not found has none: its trials fail, and say so.
bool may_train(const std::string& name) {
  const Program found = find_program_here(name, own_environment());
  if (found.exit_code != 0) return false;
  std::ifstream file(found.file, std::ios::binary);
  constexpr std::string_view kName = "run_bert_train";
  std::string text(kName.size(), ' ');
  std::vector<char> piece(std::size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.find(kName) != std::string::npos) return true;
    text.erase(0, text.size() - kName.size());  // the name may begin in one piece
  }
  return false;
}

}  // namespace

void check_parameters(const std::string& space,
                      const Block& block,
                      const std::vector<std::string>& words,
                      const std::string& help) {
  const Json answer = Json::parse(help, nullptr, false);
  if (!answer.is_object() || !answer.contains("commands") || answer["commands"].empty()) {
    return;
  }
  const Json& options = answer["commands"][0].at("options");
  const std::string program = answer.value("program", words.front());
  for (const Dimension& dimension : block.dimensions) {
    for (std::size_t i = 0; i < dimension.names.size(); ++i) {
      const std::string& name = dimension.names[i];
      if (std::ranges::any_of(words, [&](const std::string& word) {
            return word.find(concat("{", name, "}")) != std::string::npos;
          })) {
        continue;
      }
      if (gives(words, "--" + name)) {
        refuse_parameter(
            space, dimension.line,
            concat("the command line already gives --", name, "; remove it there or here"));
      }
      check_parameter(space, dimension, i, options, program);
    }
  }
}

std::optional<std::string> options_of_trainer(const std::vector<std::string>& program, int stop) {
  const bool is_bert_train = std::filesystem::path(program.front()).filename() == "bert_train";
  if (!is_bert_train && !may_train(program.front())) return std::nullopt;
  std::vector<std::string> words{program.front(), "--help=json"};
  if (const auto task = std::ranges::find(program, "--task");
      task != program.end() && task + 1 != program.end()) {
    words.insert(words.end(), {"--task", *(task + 1)});
  }
  const std::string text = ask_program({.words = words, .stop = stop}).text;
  const Json answer = Json::parse(text, nullptr, false);
  const bool knows = answer.is_object() && answer.contains("program");
  return is_bert_train || knows ? std::optional(text) : std::nullopt;
}

}  // namespace bp::launcher::sweep
