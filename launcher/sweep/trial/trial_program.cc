#include "launcher/sweep/trial/trial_program.h"

#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"

namespace bp::launcher::sweep {
namespace {

// Replaces each {NAME} of `texts` in `word`, and adds the names to `used`. Other braces stay.
std::string filled_in(std::string_view word,
                      const std::map<std::string, std::string, std::less<>>& texts,
                      std::set<std::string>& used) {
  std::string result;
  while (!word.empty()) {
    const std::size_t open = word.find('{');
    const std::size_t close = open == std::string_view::npos ? open : word.find('}', open);
    if (close == std::string_view::npos) {
      break;
    }
    const auto found = texts.find(word.substr(open + 1, close - open - 1));
    if (found == texts.end()) {
      result += word.substr(0, open + 1);
      word.remove_prefix(open + 1);
      continue;
    }
    used.insert(found->first);
    result += word.substr(0, open);
    result += found->second;
    word.remove_prefix(close + 1);
  }
  return result.append(word);
}

}  // namespace

std::vector<std::string> trial_program(const std::vector<std::string>& program,
                                       const Parameters& parameters,
                                       const TrialPlace& place) {
  std::map<std::string, std::string, std::less<>> texts{{"trial", std::to_string(place.trial)},
                                                        {"folder", place.folder}};
  for (const auto& [name, value] : parameters) {
    texts[name] = value.text();
  }
  std::vector<std::string> words;
  std::set<std::string> used;
  for (const std::string& word : program) {
    words.push_back(filled_in(word, texts, used));
  }
  for (const auto& [name, value] : parameters) {
    const bool is_flag = value.kind() == Value::Kind::boolean;
    if (used.contains(name) || (is_flag && value.number() == 0)) {
      continue;
    }
    words.push_back(concat(name.size() == 1 ? "-" : "--", name));
    if (!is_flag) {
      words.push_back(value.text());
    }
  }
  if (place.trains) words.insert(words.end(), {"--run", place.folder + "/run"});
  return words;
}

}  // namespace bp::launcher::sweep
