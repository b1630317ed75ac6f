// A file system that separates what a program has written from what is on disk, and computes what a
// power cut may leave. It promises no more than POSIX does:
//
// - fsync of a file puts its content on disk, but not its name.
// - fsync of a folder puts its names on disk, but not the content of its files.
// - Data that was not synced may be present in full, in part or not at all, in any order: a write
//   without the write before it, a file with its new size but without its bytes, a rename without
//   the creation of the name before it.
// - One operation on names (a rename, an exchange) is atomic.
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

// `all` stands for every state that after_power_cut() can produce. `extremes` stands for six: the
// names are those synced or all those written, and the files hold what was synced, all that was
// written, or zeros in place of what was not synced.
enum class PowerCutStates : std::uint8_t { all, extremes };

class SimulatedDisk {
 public:
  explicit SimulatedDisk(const FileTree& on_disk);

  // Throws std::runtime_error if the operation cannot have succeeded in this state.
  void apply(const FileOperation& operation);

  [[nodiscard]] bool has(const std::string& path) const;
  [[nodiscard]] FileTree as_written() const;
  // Returns every tree that a power cut at this point may leave, each once. With at most 6 unsynced
  // operations on names, it tries all subsets of them; with more, every prefix, every single one
  // and all but each one. For each of these, the files keep the same part of their unsynced data,
  // or one file keeps all or nothing while the others do the opposite.
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
    FileContent content;  // of a file: what is on disk; of a link: its target
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
    std::size_t file = kNone;  // the file that keeps `of_file`
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
  // The remaining content of each file, computed once.
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
