#include "tests/support/files/simulated_disk.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace bp::test {
namespace {

using Kind = FileOperationKind;

constexpr std::size_t kRoot = 0;
constexpr std::size_t kMostSubsets = 6;

void write_into(std::string& content, std::uint64_t offset, const std::string& data) {
  if (content.size() < offset + data.size()) content.resize(offset + data.size(), '\0');
  content.replace(offset, data.size(), data);
}

}  // namespace

SimulatedDisk::SimulatedDisk(const FileTree& on_disk) {
  add(FileEntry::Kind::folder);
  for (const auto& [path, entry] : on_disk) {
    const Place place = place_of(path);
    const std::size_t inode = add(entry.kind, entry.content);
    inodes_[place.folder].names[place.name] = inode;
    inodes_[place.folder].names_on_disk[place.name] = inode;
  }
}

std::size_t SimulatedDisk::add(FileEntry::Kind kind, const FileContent& content) {
  inodes_.push_back(
      {.kind = kind, .content = content, .pending = {}, .names = {}, .names_on_disk = {}});
  return inodes_.size() - 1;
}

// The recorder has followed links.
std::size_t SimulatedDisk::find(const std::string& path) const {
  std::size_t inode = kRoot;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto found = inodes_[inode].names.find(path.substr(begin, end - begin));
    if (found == inodes_[inode].names.end()) return kNone;
    inode = found->second;
    begin = end + 1;
  }
  return inode;
}

std::size_t SimulatedDisk::existing(const std::string& path) const {
  const std::size_t inode = find(path);
  if (inode == kNone) throw std::runtime_error("the record never made " + path);
  return inode;
}

SimulatedDisk::Place SimulatedDisk::place_of(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {kRoot, path};
  return {existing(path.substr(0, slash)), path.substr(slash + 1)};
}

bool SimulatedDisk::has(const std::string& path) const { return find(path) != kNone; }

void SimulatedDisk::change(NameChanges changes) {
  for (const NameChange& change : changes) {
    if (change.inode == kNone) {
      inodes_[change.folder].names.erase(change.name);
    } else {
      inodes_[change.folder].names[change.name] = change.inode;
    }
  }
  pending_.push_back(std::move(changes));
}

void SimulatedDisk::open(const FileOperation& operation) {
  std::size_t inode = find(operation.path);
  if (inode == kNone) {
    if ((operation.offset & O_CREAT) == 0) (void)existing(operation.path);
    inode = add(FileEntry::Kind::file);
    const Place place = place_of(operation.path);
    change({{place.folder, place.name, inode}});
  } else if ((operation.offset & O_TRUNC) != 0) {
    inodes_[inode].pending.push_back({.truncates = true, .offset = 0, .data = {}});
  }
  opened_[operation.fd] = inode;
}

void SimulatedDisk::sync(std::size_t inode) {
  Inode& synced = inodes_[inode];
  synced.content = content_of(synced, Left::everything);
  synced.pending.clear();
  if (synced.kind != FileEntry::Kind::folder) return;
  std::vector<NameChanges> still_pending;
  for (NameChanges& changes : pending_) {
    const bool all_here =
        std::ranges::all_of(changes, [&](const NameChange& one) { return one.folder == inode; });
    if (!all_here) {  // POSIX asks that both folders be synced for a move between them
      still_pending.push_back(std::move(changes));
      continue;
    }
    for (const NameChange& one : changes) {
      if (one.inode == kNone) {
        synced.names_on_disk.erase(one.name);
      } else {
        synced.names_on_disk[one.name] = one.inode;
      }
    }
  }
  pending_ = std::move(still_pending);
  forget_removed_folders();
}

// A folder whose removal is on disk can no longer be seen, so its pending operations are dropped.
void SimulatedDisk::forget_removed_folders() {
  std::set<std::size_t> named{kRoot};
  for (const Inode& inode : inodes_) {
    for (const auto& [name, below] : inode.names) named.insert(below);
    for (const auto& [name, below] : inode.names_on_disk) named.insert(below);
  }
  for (const NameChanges& changes : pending_) {
    for (const NameChange& one : changes) named.insert(one.inode);
  }
  std::erase_if(pending_, [&](const NameChanges& changes) {
    return std::ranges::none_of(changes,
                                [&](const NameChange& one) { return named.contains(one.folder); });
  });
}

void SimulatedDisk::apply(const FileOperation& operation) {
  const std::string& path = operation.path;
  switch (operation.kind) {
    case Kind::open:
      return open(operation);
    case Kind::close:
    case Kind::mark:
      return;
    case Kind::write:
      inodes_[opened_.at(operation.fd)].pending.push_back(
          {.truncates = false, .offset = operation.offset, .data = operation.data});
      return;
    case Kind::truncate:
      inodes_[opened_.at(operation.fd)].pending.push_back(
          {.truncates = true, .offset = operation.offset, .data = {}});
      return;
    case Kind::sync:
      return sync(opened_.at(operation.fd));
    case Kind::unlink:
    case Kind::rmdir:
      (void)existing(path);
      return change({{place_of(path).folder, place_of(path).name, kNone}});
    case Kind::mkdir:
      return change({{place_of(path).folder, place_of(path).name, add(FileEntry::Kind::folder)}});
    case Kind::symlink:
      return change({{place_of(path).folder, place_of(path).name,
                      add(FileEntry::Kind::link, FileContent(operation.other))}});
    case Kind::rename:
    case Kind::exchange:
    case Kind::link: {
      const Place from = place_of(path);
      const Place to = place_of(operation.other);
      NameChanges changes{{to.folder, to.name, existing(path)}};
      if (operation.kind == Kind::rename) changes.push_back({from.folder, from.name, kNone});
      if (operation.kind == Kind::exchange) {
        changes.push_back({from.folder, from.name, existing(operation.other)});
      }
      return change(std::move(changes));
    }
  }
}

FileContent SimulatedDisk::content_of(const Inode& file, Left left) {
  if (left == Left::nothing || file.pending.empty()) return file.content;
  std::string content = file.content.text();
  if (left == Left::last_write) {
    const FileChange& last = file.pending.back();
    if (!last.truncates) write_into(content, last.offset, last.data);
    return FileContent(std::move(content));
  }
  for (const FileChange& change : file.pending) {
    if (change.truncates) {
      content.resize(change.offset, '\0');
    } else if (left == Left::zeros) {
      write_into(content, change.offset, std::string(change.data.size(), '\0'));
    } else if (left == Left::cut && &change == &file.pending.back()) {
      write_into(content, change.offset, change.data.substr(0, change.data.size() / 2));
    } else {
      write_into(content, change.offset, change.data);
    }
  }
  return FileContent(std::move(content));
}

void SimulatedDisk::add_to(FileTree& tree,
                           const std::string& path,
                           std::size_t inode,
                           const std::vector<Names>& names,
                           const FilesLeft& left,
                           Contents& contents) const {
  const Inode& here = inodes_[inode];
  if (here.kind == FileEntry::Kind::folder) {
    if (!path.empty()) tree[path] = {};
    for (const auto& [name, below] : names[inode]) {
      add_to(tree, path.empty() ? name : path + "/" + name, below, names, left, contents);
    }
    return;
  }
  const Left of_this = inode == left.file ? left.of_file : left.all;
  auto made = contents.find({inode, of_this});
  if (made == contents.end()) {
    made = contents.emplace(std::pair(inode, of_this), content_of(here, of_this)).first;
  }
  tree[path] = {here.kind, made->second};
}

FileTree SimulatedDisk::as_written() const {
  std::vector<Names> names;
  for (const Inode& inode : inodes_) names.push_back(inode.names);
  FileTree tree;
  Contents contents;
  add_to(tree, "", kRoot, names, {.all = Left::everything}, contents);
  return tree;
}

// Returns the choices of unsynced operations on names that have reached the disk.
std::vector<std::vector<bool>> SimulatedDisk::choices_of_names(PowerCutStates states) const {
  const std::size_t count = pending_.size();
  if (states == PowerCutStates::extremes) {
    return {std::vector<bool>(count, false), std::vector<bool>(count, true)};
  }
  std::set<std::vector<bool>> choices;
  if (count <= kMostSubsets) {
    for (std::size_t subset = 0; subset < std::size_t{1} << count; ++subset) {
      std::vector<bool> choice(count);
      for (std::size_t i = 0; i < count; ++i) choice[i] = (subset >> i & 1U) != 0;
      choices.insert(choice);
    }
    return {choices.begin(), choices.end()};
  }
  for (std::size_t i = 0; i <= count; ++i) {
    std::vector<bool> beginning(count);
    std::fill_n(beginning.begin(), i, true);
    choices.insert(beginning);
    if (i == count) break;
    std::vector<bool> all_but_one(count, true);
    all_but_one[i] = false;
    choices.insert(all_but_one);
    all_but_one.flip();
    choices.insert(all_but_one);
  }
  return {choices.begin(), choices.end()};
}

std::vector<SimulatedDisk::FilesLeft> SimulatedDisk::choices_of_files(PowerCutStates states) const {
  if (states == PowerCutStates::extremes) {
    return {{.all = Left::nothing}, {.all = Left::everything}, {.all = Left::zeros}};
  }
  std::vector<FilesLeft> choices;
  for (const Left left :
       {Left::nothing, Left::everything, Left::cut, Left::last_write, Left::zeros}) {
    choices.push_back({.all = left});
  }
  for (std::size_t inode = 0; inode < inodes_.size(); ++inode) {
    if (inodes_[inode].pending.empty()) continue;
    choices.push_back({.all = Left::everything, .file = inode, .of_file = Left::nothing});
    choices.push_back({.all = Left::nothing, .file = inode, .of_file = Left::everything});
  }
  return choices;
}

std::vector<FileTree> SimulatedDisk::after_power_cut(PowerCutStates states) const {
  std::set<FileTree> trees;
  Contents contents;
  const std::vector<FilesLeft> files = choices_of_files(states);
  for (const std::vector<bool>& choice : choices_of_names(states)) {
    std::vector<Names> names;
    for (const Inode& inode : inodes_) names.push_back(inode.names_on_disk);
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (!choice[i]) continue;
      for (const NameChange& change : pending_[i]) {
        if (change.inode == kNone) {
          names[change.folder].erase(change.name);
        } else {
          names[change.folder][change.name] = change.inode;
        }
      }
    }
    for (const FilesLeft& left : files) {
      FileTree tree;
      add_to(tree, "", kRoot, names, left, contents);
      trees.insert(std::move(tree));
    }
  }
  return {trees.begin(), trees.end()};
}

}  // namespace bp::test
