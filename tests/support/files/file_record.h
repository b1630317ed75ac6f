// Records what a process does to the files of a folder, and reads and writes trees of files.
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

// The content of a file. Copies share it.
class FileContent {
 public:
  FileContent() = default;
  explicit FileContent(std::string text)
      : text_(std::make_shared<const std::string>(std::move(text))) {}

  [[nodiscard]] const std::string& text() const { return *text_; }
  bool operator==(const FileContent& other) const {
    return text_ == other.text_ || *text_ == *other.text_;
  }
  // A total order for sets. It has no meaning beyond that.
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

// The entries below a folder, by path.
using FileTree = std::map<std::string, FileEntry>;

[[nodiscard]] FileTree tree_of(const std::string& folder);
// Creates `tree` in `folder`, which must be empty.
void put_tree(const std::string& folder, const FileTree& tree);

struct FileOperation {
  FileOperationKind kind = FileOperationKind::mark;
  int fd = -1;
  std::uint64_t offset = 0;
  std::string path = {};  // if `fd` is given: its path when it was opened
  std::string other = {};
  std::string data = {};
};

struct FileRecord {
  FileTree before;
  std::vector<FileOperation> operations;

  // Returns one line for each operation that changes or syncs something, in order: "create a",
  // "write a" (once for consecutive writes to a file), "sync a", "rename a -> b", "mark done". The
  // folder itself is ".".
  [[nodiscard]] std::vector<std::string> lines() const;
};

// Records this process from construction until stop().
class FileRecording {
 public:
  explicit FileRecording(const std::string& folder);
  FileRecording(const FileRecording&) = delete;
  FileRecording& operator=(const FileRecording&) = delete;
  ~FileRecording();

  // Adds a mark to the record. From here on, what was done before the mark must survive a power
  // cut. power_cut.h counts the marks.
  static void mark(const std::string& text);
  // Ends the recording. Fails the test if the record does not lead from the tree before to the tree
  // that now exists, because then the recorder has missed an operation.
  [[nodiscard]] FileRecord stop();

 private:
  std::string folder_;
  Scratch scratch_;
  FileTree before_;
};

// Reads the record that another process wrote to `file` while it ran. The folder held `before` and
// now holds `after`. Fails the test as stop() does.
[[nodiscard]] FileRecord read_file_record(const std::string& file,
                                          const FileTree& before,
                                          const FileTree& after);

// Returns "" if `lines` contains all of `wanted` in this order, else a text that names the first
// missing one.
[[nodiscard]] std::string out_of_order(const std::vector<std::string>& lines,
                                       const std::vector<std::string>& wanted);

}  // namespace bp::test
