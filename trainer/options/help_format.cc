#include "trainer/options/help_format.h"

#include <sstream>

namespace bp::trainer {
namespace {

constexpr std::size_t kIndent = 26;
constexpr std::size_t kWidth = 80;

}  // namespace

std::string HelpFormat::make_option(const CLI::Option* option, bool positional) const {
  std::string line = "  " + option->get_name(positional, true);
  if (!option->get_type_name().empty()) line += ' ' + option->get_type_name();

  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ')';
  std::istringstream words(text);
  std::string all;
  const auto end_line = [&] {
    all += line + '\n';
    line.clear();
  };
  if (line.size() + 2 > kIndent) end_line();
  line.resize(kIndent, ' ');
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth && line.size() > kIndent) {
      end_line();
      line.resize(kIndent, ' ');
    }
    if (line.size() > kIndent) line += ' ';
    line += word;
  }
  end_line();
  return all;
}

}  // namespace bp::trainer
