#include "trainer/options/help_format.h"

#include <sstream>

#include "base/help_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kIndent = 26;
constexpr std::size_t kWidth = 80;

// Returns the text with each paragraph on one line. Empty lines and indented ones stay as they are.
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

}  // namespace

// The sources break the text where their own lines end, which may be behind the last column.
std::string HelpFormat::make_description(const CLI::App* app) const {
  const std::string text = app->get_description();
  return text.empty() ? "" : wrap_help(joined_paragraphs(text), kWidth) + '\n';
}

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
