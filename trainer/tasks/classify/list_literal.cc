#include "trainer/tasks/classify/list_literal.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "base/text.h"

namespace bp::trainer {
namespace {

class ListParser {
 public:
  ListParser(std::string_view text, std::vector<std::int32_t>& numbers)
      : text_(text), numbers_(numbers) {}

  std::string run() {
    numbers_.clear();
    skip_blanks();
    if (!take('[')) return wrong("[");
    skip_blanks();
    if (!take(']')) {
      if (std::string problem = elements(); !problem.empty()) return problem;
    }
    skip_blanks();
    return at_ == text_.size() ? "" : wrong("the end");
  }

 private:
  // Reads the elements with the bracket that ends them.
  std::string elements() {
    for (;;) {
      if (std::string problem = number(); !problem.empty()) return problem;
      skip_blanks();
      if (take(']')) return "";
      if (!take(',')) return wrong(", or ]");
      skip_blanks();
    }
  }

  std::string number() {
    const char* const begin = text_.data() + at_;
    // It takes no sign but a minus.
    if (at_ == text_.size() || *begin < '0' || *begin > '9') return wrong("a number");
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) {
      return concat("has a number above 2147483647, at character ", at_ + 1);
    }
    at_ += static_cast<std::size_t>(end - begin);
    numbers_.push_back(value);
    return "";
  }

  [[nodiscard]] std::string wrong(const char* expected) const {
    const std::string where = concat(" where ", expected, " should be, at character ", at_ + 1);
    if (at_ == text_.size()) return concat("ends", where);
    const char c = text_[at_];
    const bool printable = c >= ' ' && c <= '~';
    return printable ? concat("has '", c, "'", where)
                     : concat("has a byte that is not ASCII text", where);
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  std::string_view text_;
  std::vector<std::int32_t>& numbers_;
  std::size_t at_ = 0;
};

}  // namespace

std::string parse_list_literal(std::string_view text, std::vector<std::int32_t>& numbers) {
  return ListParser(text, numbers).run();
}

}  // namespace bp::trainer
