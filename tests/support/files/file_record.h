// A record of what was done to the files of a folder, and the tree of files before and after.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/files/recorder.h"
#include "tests/support/scratch.h"

namespace bp::test {

// What lies below a folder, by path. A folder is "d", a file "f" and its content, a link "l" and
// its target.
using FileTree = std::map<std::string, std::string>;

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
