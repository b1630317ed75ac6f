// A file system that keeps apart what a program has written and what is on disk, and says what may
// be left after a power cut. It promises no more than POSIX does:
//
//   - fsync of a file puts its content on disk, and not its name.
//   - fsync of a folder puts its names on disk, and not the content of its files.
//   - What was not synced may be there, in part or not at all, in any order: a write without the
//     one before it, a file at its new size without its bytes, a rename without the name that was
//     made before it.
//   - One operation on names (a rename, an exchange) is there wholly or not at all.
//
// This is the model of ALICE (Pillai et al., OSDI 2014) without an order between operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/files/file_record.h"

namespace bp::test {

// `all` is every state that after_power_cut() knows. `extremes` is what is synced alone, all that
// was written, and the names of the one with the content of the other, or with zeros.
enum class PowerCutStates : std::uint8_t { all, extremes };

class SimulatedDisk {
 public:
  explicit SimulatedDisk(const FileTree& on_disk);

  // Throws std::runtime_error where the operation cannot have succeeded here.
  void apply(const FileOperation& operation);

  [[nodiscard]] bool has(const std::string& path) const;
  [[nodiscard]] FileTree as_written() const;
  // What may be there after a power cut now, each tree once: all subsets of at most 6 operations on
  // names that are not synced, and of more of them each beginning and each but one; with each, what
  // is left of files alike and of one file otherwise than of the rest.
  [[nodiscard]] std::vector<FileTree> after_power_cut(
      PowerCutStates states = PowerCutStates::all) const;

 private:
  using Names = std::map<std::string, std::size_t>;

  struct FileChange {
    bool truncates = false;
    std::uint64_t offset = 0;  // or the new size
    std::string data;
  };
  struct Inode {
    FileEntry::Kind kind = FileEntry::Kind::file;
    FileContent content;  // of a file, what is on disk; of a link, its target
    std::vector<FileChange> pending;
    Names names;  // of a folder, as written
    Names names_on_disk;
  };
  struct NameChange {
    std::size_t folder = 0;
    std::string name;
    std::size_t inode = kNone;
  };
  using NameChanges = std::vector<NameChange>;  // of one operation
  enum class Left : std::uint8_t { nothing, everything, cut, last_write, zeros };
  struct FilesLeft {
    Left all = Left::nothing;
    std::size_t file = kNone;  // of which `of_file` is left
    Left of_file = Left::nothing;
  };
  struct Place {
    std::size_t folder = 0;
    std::string name;
  };

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] Place place_of(const std::string& path) const;
  [[nodiscard]] std::size_t find(const std::string& path) const;
  [[nodiscard]] std::size_t existing(const std::string& path) const;
  std::size_t add(FileEntry::Kind kind, const FileContent& content = {});
  void open(const FileOperation& operation);
  void sync(std::size_t inode);
  void forget_removed_folders();
  void change(NameChanges changes);
  [[nodiscard]] std::vector<std::vector<bool>> choices_of_names(PowerCutStates states) const;
  [[nodiscard]] std::vector<FilesLeft> choices_of_files(PowerCutStates states) const;
  [[nodiscard]] static FileContent content_of(const Inode& file, Left left);
  // What is left of each file, made once.
  using Contents = std::map<std::pair<std::size_t, Left>, FileContent>;
  void add_to(FileTree& tree,
              const std::string& path,
              std::size_t inode,
              const std::vector<Names>& names,
              const FilesLeft& left,
              Contents& contents) const;

  std::vector<Inode> inodes_;
  std::map<int, std::size_t> opened_;
  std::vector<NameChanges> pending_;
};

}  // namespace bp::test
