#include "trainer/tasks/pretrain/documents.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/data/open_input.h"
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

bool DocumentReader::open_next_file() {
  if (file_ == files_.size()) return false;
  in_ = std::make_unique<InputBuffer>(open_input(files_[file_++]));
  line_number_ = 0;
  next_ = 0;
  refill();
  if (std::string_view(in_->data(), in_->size()).starts_with(kByteOrderMark)) {
    next_ = kByteOrderMark.size();
  }
  return true;
}

// Moves to the next line, without the white space around it. Returns false at the end of a file;
// the next call opens the next one.
bool DocumentReader::next_line() {
  if (!in_ && !open_next_file()) return false;
  std::size_t searched = next_;
  for (;;) {
    const void* found = std::memchr(in_->data() + searched, '\n', in_->size() - searched);
    if (found == nullptr && !in_->at_end()) {
      searched = in_->size() - next_;
      refill();
      continue;
    }
    const std::size_t end =
        found == nullptr ? in_->size()
                         : static_cast<std::size_t>(static_cast<const char*>(found) - in_->data());
    if (found == nullptr && next_ == end) {
      in_.reset();
      return false;
    }
    const std::size_t begin = std::exchange(next_, std::min(end + 1, in_->size()));
    ++line_number_;
    const std::string_view line(in_->data() + begin, end - begin);
    if (const std::size_t bad = find_invalid_utf8(line); bad != std::string_view::npos) {
      throw in_->not_utf8(concat(files_[file_ - 1], ", line ", line_number_), begin + bad);
    }
    line_ = without_space_around(line);
    return true;
  }
}

void DocumentReader::refill() {
  const std::string& path = files_[file_ - 1];
  try {
    if (in_->refill(std::exchange(next_, 0))) return;
  } catch (const BrokenInput& broken) {
    throw InputError(broken.exit_code(),
                     concat(path, ", line ", line_number_ + 1, ": ", broken.what()), broken.hint());
  }
  throw InputError(65,
                   concat(path, ", line ", line_number_ + 1, ": is longer than ",
                          InputBuffer::kLongestRow >> 20, " MiB"),
                   "a line is a sentence or a paragraph, and blank lines separate documents");
}

}  // namespace bp::trainer
