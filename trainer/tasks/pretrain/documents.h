// Documents of plain text, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/input/line_reader.h"

namespace bp::trainer {

// How the files are written. A blank line and the end of a file end a document.
enum class TextForm : std::uint8_t {
  sentences,  // each line is a sentence
  running,    // each line is a paragraph, which is split into sentences
};

// Consecutive documents.
struct DocumentBlock {
  std::string text;                    // the sentences, one behind the other
  std::vector<std::size_t> sentences;  // where each ends in `text`
  std::vector<std::size_t> documents;  // where each ends in `sentences`
  std::int64_t first_document = 0;     // its number in all files, from 0
  // A block of one document begins with the start of the one before it, as long as there is one:
  // instances are made of the others only, and find a sentence here that does not follow.
  bool begins_with_other = false;

  void clear();
  void add(std::string_view sentence);
  void end_document();                               // if it has a sentence
  [[nodiscard]] std::size_t open_sentences() const;  // behind the last complete document
};

class DocumentReader {
 public:
  // Throws InputError (66 or 65) if a file cannot be read or is not text. `block_bytes`: a block
  // ends with the first document that makes it as long; a longer document is cut into several.
  DocumentReader(std::vector<std::string> files, TextForm form, std::size_t block_bytes);

  // Replaces the block's content. Returns false, with an empty block, at the end of the last file.
  // Throws InputError (65), naming file and line, for text that is not UTF-8, and for what is
  // broken.
  bool read(DocumentBlock& block);

 private:
  bool next_line();
  void lend(const DocumentBlock& block);

  std::vector<std::string> files_;
  TextForm form_;
  std::size_t block_bytes_;
  std::size_t file_ = 0;             // the number of files that were opened
  std::optional<LineReader> lines_;  // of the last one
  std::string_view line_;
  bool is_held_ = false;  // line_ goes on with the last block's last document
  std::int64_t documents_ = 0;
  DocumentBlock other_;  // the start of a document before the next one
};

}  // namespace bp::trainer
