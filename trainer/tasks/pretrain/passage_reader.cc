#include "trainer/tasks/pretrain/passage_reader.h"

#include "base/text.h"
#include "trainer/common/numbers.h"

namespace bp::trainer {

PassageReader::PassageReader(const std::string& path,
                             const std::string& encoding,
                             std::size_t passage_bytes)
    : path_(path), lines_(path, encoding), passage_bytes_(passage_bytes) {}

bool PassageReader::next() {
  text_.clear();
  while (lines_.next()) {
    const std::string_view line = without_blanks(lines_.line());
    if (line.empty()) {
      if (text_.empty()) continue;
      break;
    }
    if (text_.empty()) {
      first_line_ = lines_.number();
    } else {
      text_ += ' ';
    }
    text_ += line;
    if (text_.size() >= passage_bytes_) break;
  }
  if (text_.empty()) return false;
  field_ = text_;
  ++number_;
  return true;
}

std::string PassageReader::place() const { return concat(path_, ", line ", first_line_); }

}  // namespace bp::trainer
