#include "trainer/tasks/tokens/conll.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view without_trailing(std::string_view text, std::string_view characters) {
  const std::size_t last = text.find_last_not_of(characters);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string columns_text(std::size_t count) {
  return concat(count, count == 1 ? " column" : " columns");
}

constexpr std::string_view kLineBlanks = " \t\r\n";

}  // namespace

bool is_entity_tag(std::string_view tag) {
  constexpr std::string_view kLetters = "BIESLU";
  return tag == "O" ||
         (tag.size() > 2 && kLetters.find(tag[0]) != std::string_view::npos && tag[1] == '-');
}

ConllReader::ConllReader(std::string path, const ConllColumns& columns)
    : path_(std::move(path)), columns_(columns) {
  if (columns.word < 1 || columns.tag < 0 || columns.word == columns.tag) {
    throw InputError(2,
                     concat("words in column ", columns.word, " and tags in column ", columns.tag,
                            " of ", path_, " is impossible"),
                     "columns are numbered from 1, and words and tags need one each");
  }
}

bool ConllReader::add(std::string_view line) {
  ++line_;
  if (complete_) sentence_ = {};
  complete_ = false;
  if (line_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (const std::size_t at = find_invalid_utf8(line); at != std::string_view::npos) {
    fail(concat("byte ", at + 1, " is not UTF-8"),
         "name the file's encoding, for instance --encoding windows-1252");
  }
  const std::string_view text = without_trailing(line, kBlanks);
  if (text.empty() || text.starts_with("-DOCSTART-")) return finish();
  if (is_comment(without_trailing(line, " \r"))) return false;
  check_columns();
  if (sentence_.words.empty()) sentence_.line = line_;
  sentence_.words.emplace_back(fields_[static_cast<std::size_t>(columns_.word - 1)]);
  if (columns_.tag != columns_.word) sentence_.tags.emplace_back(tag());
  return false;
}

bool ConllReader::finish() {
  if (complete_) return false;
  complete_ = !sentence_.words.empty();
  return complete_;
}

// Fills fields_, unless the line is a comment.
bool ConllReader::is_comment(std::string_view line) {
  const bool possible = line.starts_with("# ") && line.find('\t') == std::string_view::npos;
  if (first_line_ == 0) {
    if (possible) {
      split(line);
      if (fields_.size() < 2 || !is_entity_tag(fields_.back())) return true;
    }
    learn_columns(line);
    return false;
  }
  split(line);
  return possible && (fields_.size() != width_ || (width_ > 1 && !is_entity_tag(tag())));
}

void ConllReader::split(std::string_view line) {
  fields_.clear();
  const std::string_view separators = tabs_ ? "\t" : " \t";
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find_first_of(separators, at), line.size());
    if (tabs_ || end > at) fields_.push_back(line.substr(at, end - at));
    at = end + 1;
  }
}

void ConllReader::learn_columns(std::string_view line) {
  tabs_ = line.find('\t') != std::string_view::npos;
  split(line);
  first_line_ = line_;
  width_ = fields_.size();
  if (const int wanted = std::max(columns_.word, columns_.tag);
      static_cast<std::size_t>(wanted) > width_) {
    fail(concat("has ", columns_text(width_), ", and column ", wanted, " is wanted"),
         "columns are separated by a tab or by blanks; are the numbers of the columns right?");
  }
  if (columns_.tag == 0) columns_.tag = static_cast<int>(width_);
  if (columns_.tag == columns_.word && width_ > 1) {
    fail(concat("words and tags are both in the last column, ", width_),
         "name another column for one of them");
  }
}

std::string_view ConllReader::tag() const {
  return fields_[static_cast<std::size_t>(columns_.tag - 1)];
}

void ConllReader::check_columns() const {
  if (fields_.size() != width_) {
    fail(concat("has ", columns_text(fields_.size()), ", but line ", first_line_, " has ", width_),
         "every word needs the same columns, and a sentence ends with a blank line");
  }
  const auto empty = std::find(fields_.begin(), fields_.end(), std::string_view());
  if (empty != fields_.end()) {
    fail(concat("column ", empty - fields_.begin() + 1, " is empty"),
         "write one tab between two columns, and something in each");
  }
  if (columns_.tag != columns_.word && !is_entity_tag(tag())) {
    fail(concat("'", tag(), "' in column ", columns_.tag, " is not a tag"),
         "a tag is O, or B-, I-, E-, S-, L- or U- and a type, such as B-PER; is the column right?");
  }
}

void ConllReader::fail(const std::string& problem, const std::string& hint) const {
  throw InputError(65, concat(path_, ", line ", line_, ": ", problem), hint);
}

std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    for (const char c : word) {
      if (kLineBlanks.find(c) == std::string_view::npos) {
        text += c;
      } else {
        text += "\u00A0";
      }
    }
  }
  return text;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kLineBlanks);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find_first_of(kLineBlanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

}  // namespace bp::trainer
