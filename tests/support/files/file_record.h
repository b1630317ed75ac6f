// A record of what was done to the files of a folder, and the tree of files before and after.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/files/recorder.h"
#include "tests/support/scratch.h"

namespace bp::test {

// What a file holds. Copies share it.
class FileContent {
 public:
  FileContent() = default;
  explicit FileContent(std::string text)
      : text_(std::make_shared<const std::string>(std::move(text))) {}

  [[nodiscard]] const std::string& text() const { return *text_; }
  bool operator==(const FileContent& other) const {
    return text_ == other.text_ || *text_ == *other.text_;
  }
  // Some order.
  bool operator<(const FileContent& other) const {
    if (text_ == other.text_) return false;
    return text_->size() != other.text_->size() ? text_->size() < other.text_->size()
                                                : *text_ < *other.text_;
  }

 private:
  std::shared_ptr<const std::string> text_ = std::make_shared<const std::string>();
};

struct FileEntry {
  enum class Kind : std::uint8_t { folder, file, link };
  Kind kind = Kind::folder;
  FileContent content = {};  // of a file; the target of a link
  bool operator==(const FileEntry&) const = default;
  bool operator<(const FileEntry& other) const {
    return kind != other.kind ? kind < other.kind : content < other.content;
  }
};

// What lies below a folder, by path.
using FileTree = std::map<std::string, FileEntry>;

[[nodiscard]] FileTree tree_of(const std::string& folder);
// Makes `folder`, which must be empty, hold `tree`.
void put_tree(const std::string& folder, const FileTree& tree);

struct FileOperation {
  FileOperationKind kind = FileOperationKind::mark;
  int fd = -1;
  std::uint64_t offset = 0;
  std::string path = {};  // where `fd` is given: its path when it was opened
  std::string other = {};
  std::string data = {};
};

struct FileRecord {
  FileTree before;
  std::vector<FileOperation> operations;

  // One line for each operation that changes or syncs something, for the order: "create a",
  // "write a" (once for writes that follow one another), "sync a", "rename a -> b", "mark done".
  // The folder itself is ".".
  [[nodiscard]] std::vector<std::string> lines() const;
};

// Records this process from its construction to stop().
class FileRecording {
 public:
  explicit FileRecording(const std::string& folder);
  FileRecording(const FileRecording&) = delete;
  FileRecording& operator=(const FileRecording&) = delete;
  ~FileRecording();

  // What was done until now must outlive a power cut from now on; power_cut.h counts the marks.
  static void mark(const std::string& text);
  // Fails the test where the record does not lead from the tree before to the tree that lies there:
  // then the recorder has missed something.
  [[nodiscard]] FileRecord stop();

 private:
  std::string folder_;
  Scratch scratch_;
  FileTree before_;
};

// The record of another process, which wrote it to `file` while it ran. The folder held `before`
// and holds `after`; fails the test as stop() does.
[[nodiscard]] FileRecord read_file_record(const std::string& file,
                                          const FileTree& before,
                                          const FileTree& after);

// Whether the lines hold all of `wanted` in this order; where not, a text that names the first that
// is missing, else "".
[[nodiscard]] std::string out_of_order(const std::vector<std::string>& lines,
                                       const std::vector<std::string>& wanted);

}  // namespace bp::test
