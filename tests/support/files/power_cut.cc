#include "tests/support/files/power_cut.h"

#include <unistd.h>

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/scratch.h"

namespace bp::test {
namespace {

namespace fs = std::filesystem;

// Returns whether a power cut after the next operation may leave everything that one at `i` may
// leave.
bool adds_nothing(const std::vector<FileOperation>& operations, std::size_t i) {
  constexpr FileOperationKind kWrite = FileOperationKind::write;
  if (i + 1 == operations.size()) return false;
  const FileOperation& next = operations[i + 1];
  return operations[i].kind == FileOperationKind::close ||
         (operations[i].kind == kWrite && next.kind == kWrite && next.fd == operations[i].fd);
}

// for_each_power_cut() creates and removes thousands of small files, so it works in memory if
// possible.
fs::path quick_folder() {
  constexpr const char* kMemory = "/dev/shm";
  return ::access(kMemory, W_OK) == 0 ? fs::path(kMemory) : fs::temp_directory_path();
}

std::string listing(const FileTree& tree) {
  std::string text;
  for (const auto& [path, entry] : tree) {
    const std::string& content = entry.content.text();
    text += concat("\n  ", path);
    if (entry.kind == FileEntry::Kind::folder) text += "/";
    if (entry.kind == FileEntry::Kind::link) text += " -> " + content;
    if (entry.kind == FileEntry::Kind::file) text += concat(" ", content.size(), " bytes");
  }
  return text;
}

}  // namespace

std::size_t for_each_power_cut(const FileRecord& record,
                               const std::function<void(const PowerCut&)>& look,
                               PowerCutStates states) {
  SimulatedDisk disk(record.before);
  std::set<std::pair<std::size_t, FileTree>> seen;
  PowerCut cut;
  const auto look_at_all = [&](const std::string& when) {
    for (FileTree& tree : disk.after_power_cut(states)) {
      if (seen.contains({cut.marks, tree})) continue;
      SCOPED_TRACE(concat("a power cut ", when, " has left", listing(tree)));
      const Scratch scratch(quick_folder());
      cut.folder = scratch.path();
      put_tree(cut.folder, tree);
      look(cut);
      seen.emplace(cut.marks, std::move(tree));
    }
  };
  look_at_all("before the first operation");
  for (std::size_t i = 0; i < record.operations.size(); ++i) {
    const FileOperation& operation = record.operations[i];
    disk.apply(operation);
    if (operation.kind == FileOperationKind::mark) ++cut.marks;
    if (adds_nothing(record.operations, i)) continue;
    look_at_all(concat("after operation ", i + 1, " of ", record.operations.size(), " (",
                       operation.path, " ", operation.other, ")"));
  }
  return seen.size();
}

}  // namespace bp::test
