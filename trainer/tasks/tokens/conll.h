// Reads labelled words in the columns of CoNLL: one word a line, a blank line after each sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Column numbers, from 1.
struct ConllColumns {
  int word = 1;
  int tag = 0;  // 0: the last column
};

struct Sentence {
  std::vector<std::string> words = {};
  std::vector<std::string> tags = {};  // one for each word; empty if the file has no tags
  std::int64_t line = 0;               // of the first word, from 1
};

// Takes a file line by line:
//
//   ConllReader reader("train.conll");
//   while (next(line)) if (reader.add(line)) use(reader.sentence());
//   if (reader.finish()) use(reader.sentence());
//
// The first word's line decides how the file separates columns: at each tab if it has one, else at
// blanks. If it has only one column, and the tag's column has no number, the file has no tags.
//
// The reader skips lines that begin with "-DOCSTART-"; they end a sentence as a blank line does. It
// skips a line that begins with "# " as a comment, unless the line has the columns of a word.
class ConllReader {
 public:
  // `path`: for messages. Throws InputError (2) for impossible columns.
  explicit ConllReader(std::string path, const ConllColumns& columns = {});

  // Takes the next line, without its line end. Returns true if the line ends a sentence, which
  // sentence() then returns. Throws InputError (65) naming the line if it is not UTF-8, has another
  // number of columns than the first word's line, an empty column, or no valid tag.
  [[nodiscard]] bool add(std::string_view line);
  // Ends the file. Returns true if it ends a sentence.
  [[nodiscard]] bool finish();

  // Valid until the next call of add().
  [[nodiscard]] const Sentence& sentence() const { return sentence_; }

 private:
  [[nodiscard]] bool is_comment(std::string_view line);
  void split(std::string_view line);
  void learn_columns(std::string_view line);
  void check_columns() const;
  [[nodiscard]] std::string_view tag() const;
  [[noreturn]] void fail(const std::string& problem, const std::string& hint) const;

  std::string path_;
  ConllColumns columns_;
  std::int64_t line_ = 0;
  std::int64_t first_line_ = 0;  // of the file's first word; 0 before it
  std::size_t width_ = 0;        // number of columns of that line
  bool tabs_ = false;            // only tabs separate columns
  std::vector<std::string_view> fields_;
  bool complete_ = true;  // sentence_ has been returned
  Sentence sentence_;
};

// Returns whether `tag` is "O", or a type after "B-", "I-", "E-", "S-", "L-" or "U-".
[[nodiscard]] bool is_entity_tag(std::string_view tag);

// A sentence's words, or their tags, as one text with blanks between them. A blank inside of a word
// becomes a no-break space, which the tokenizer treats as a blank.
[[nodiscard]] std::string join_words(const std::vector<std::string>& words);

// Cuts at spaces, tabs and line ends; none of the words is empty.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

}  // namespace bp::trainer
