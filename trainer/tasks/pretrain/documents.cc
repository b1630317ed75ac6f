#include "trainer/tasks/pretrain/documents.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trainer/tasks/pretrain/sentences.h"

namespace bp::trainer {
namespace {

// Of the start of a document that a block may borrow. It is more than an instance holds.
constexpr std::size_t kMostBorrowed = std::size_t{64} << 10;

}  // namespace

void DocumentBlock::clear() {
  text.clear();
  sentences.clear();
  documents.clear();
  begins_with_other = false;
}

void DocumentBlock::add(std::string_view sentence) {
  text += sentence;
  sentences.push_back(text.size());
}

std::size_t DocumentBlock::open_sentences() const {
  return sentences.size() - (documents.empty() ? 0 : documents.back());
}

void DocumentBlock::end_document() {
  if (open_sentences() > 0) documents.push_back(sentences.size());
}

DocumentReader::DocumentReader(std::vector<std::string> files,
                               TextForm form,
                               std::size_t block_bytes)
    : files_(std::move(files)), form_(form), block_bytes_(block_bytes) {}

bool DocumentReader::read(DocumentBlock& block) {
  block.clear();
  block.first_document = documents_;
  while (block.text.size() < block_bytes_ || block.open_sentences() > 0) {
    const bool found = std::exchange(is_held_, false) || next_line();
    const bool ends = !found || line_.empty();
    is_held_ = !ends && block.text.size() >= 2 * block_bytes_;
    if (is_held_) break;  // cuts a long document
    if (ends) block.end_document();
    if (!found && file_ == files_.size()) break;
    if (ends) continue;
    if (form_ == TextForm::sentences) {
      block.add(line_);
    } else {
      split_sentences(line_, [&](std::string_view sentence) { block.add(sentence); });
    }
  }
  block.end_document();
  if (block.documents.empty()) return false;
  documents_ += std::ssize(block.documents);
  if (block.documents.size() == 1 && !other_.documents.empty()) {
    DocumentBlock with_other = other_;
    with_other.first_document = block.first_document;
    with_other.begins_with_other = true;
    for (const std::size_t end : block.sentences) {
      with_other.sentences.push_back(with_other.text.size() + end);
    }
    with_other.text += block.text;
    with_other.end_document();
    lend(block);
    block = std::move(with_other);
  } else {
    lend(block);
  }
  return true;
}

// Keeps the start of the last document that the next block does not go on with.
void DocumentReader::lend(const DocumentBlock& block) {
  const std::size_t complete = block.documents.size() - (is_held_ ? 1 : 0);
  if (complete == 0) return;
  other_.clear();
  const std::size_t first = complete < 2 ? 0 : block.documents[complete - 2];
  std::size_t begin = first == 0 ? 0 : block.sentences[first - 1];
  for (std::size_t i = first; i < block.documents[complete - 1]; ++i) {
    if (other_.text.size() > kMostBorrowed) break;
    other_.add(std::string_view(block.text).substr(begin, block.sentences[i] - begin));
    begin = block.sentences[i];
  }
  other_.end_document();
}

// Moves to the next line, without the white space around it. Returns false at the end of a file;
// the next call opens the next one.
bool DocumentReader::next_line() {
  if (!lines_) {
    if (file_ == files_.size()) return false;
    constexpr const char* kHint =
        "a line is a sentence or a paragraph, and blank lines separate documents";
    lines_.emplace(files_[file_++], "", LineNames{.too_long_hint = kHint});
  }
  if (!lines_->next()) {
    lines_.reset();
    return false;
  }
  line_ = without_space_around(lines_->line());
  return true;
}

}  // namespace bp::trainer
