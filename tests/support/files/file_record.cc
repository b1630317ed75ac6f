#include "tests/support/files/file_record.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "base/text.h"
#include "tests/support/files/simulated_disk.h"

namespace bp::test {
namespace {

namespace fs = std::filesystem;
using Kind = FileOperationKind;

std::string_view take(std::string_view& bytes, std::uint64_t count) {
  if (bytes.size() < count) throw std::runtime_error("the record of file operations is cut short");
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

std::vector<FileOperation> read_operations(const std::string& file) {
  const std::string text = read_file(file);
  std::string_view bytes = text;
  std::vector<FileOperation> operations;
  std::map<int, std::string> paths;
  while (!bytes.empty()) {
    FileOperationHeader header;
    std::memcpy(&header, take(bytes, sizeof(header)).data(), sizeof(header));
    FileOperation operation{.kind = header.kind, .fd = header.fd, .offset = header.offset};
    operation.path = take(bytes, header.path_bytes);
    operation.other = take(bytes, header.other_bytes);
    operation.data = take(bytes, header.data_bytes);
    if (operation.kind == Kind::open) paths[operation.fd] = operation.path;
    if (operation.fd >= 0) operation.path = paths.at(operation.fd);
    operations.push_back(std::move(operation));
  }
  return operations;
}

std::string line_of(const FileOperation& operation, bool creates) {
  const std::string path = operation.path.empty() ? "." : operation.path;
  switch (operation.kind) {
    case Kind::open:
      return creates ? "create " + path : "";
    case Kind::close:
      return "";
    case Kind::write:
      return "write " + path;
    case Kind::truncate:
      return concat("truncate ", path, " to ", operation.offset);
    case Kind::sync:
      return "sync " + path;
    case Kind::rename:
      return concat("rename ", path, " -> ", operation.other);
    case Kind::exchange:
      return concat("exchange ", path, " and ", operation.other);
    case Kind::link:
      return concat("link ", path, " -> ", operation.other);
    case Kind::symlink:
      return concat("symlink ", path, " to ", operation.other);
    case Kind::unlink:
      return "unlink " + path;
    case Kind::rmdir:
      return "rmdir " + path;
    case Kind::mkdir:
      return "mkdir " + path;
    case Kind::mark:
      return "mark " + operation.other;
  }
  return "";
}

}  // namespace

FileTree tree_of(const std::string& folder) {
  FileTree tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    if (entry.is_symlink()) {
      tree[path] = {FileEntry::Kind::link, FileContent(fs::read_symlink(entry.path()).string())};
    } else if (entry.is_directory()) {
      tree[path] = {};
    } else {
      tree[path] = {FileEntry::Kind::file, FileContent(read_file(entry.path().string()))};
    }
  }
  return tree;
}

void put_tree(const std::string& folder, const FileTree& tree) {
  for (const auto& [path, entry] : tree) {  // a folder comes before its entries
    const fs::path place = fs::path(folder) / path;
    if (entry.kind == FileEntry::Kind::folder) {
      fs::create_directory(place);
    } else if (entry.kind == FileEntry::Kind::link) {
      fs::create_symlink(entry.content.text(), place);
    } else {
      std::ofstream(place, std::ios::binary) << entry.content.text();
    }
  }
}

std::vector<std::string> FileRecord::lines() const {
  std::vector<std::string> lines;
  SimulatedDisk disk(before);
  for (const FileOperation& operation : operations) {
    const bool creates = operation.kind == Kind::open && !disk.has(operation.path);
    disk.apply(operation);
    const std::string line = line_of(operation, creates);
    const bool goes_on = operation.kind == Kind::write && !lines.empty() && lines.back() == line;
    if (!line.empty() && !goes_on) lines.push_back(line);
  }
  return lines;
}

FileRecording::FileRecording(const std::string& folder)
    : folder_(folder), before_(tree_of(folder)) {
  if (!bp_record_files(folder.c_str(), scratch_.write("record", "").c_str())) {
    throw std::runtime_error("cannot record the files of " + folder);
  }
}

FileRecording::~FileRecording() { bp_record_stop(); }

void FileRecording::mark(const std::string& text) { bp_record_mark(text.c_str()); }

FileRecord FileRecording::stop() {
  bp_record_stop();
  return read_file_record(scratch_.path("record"), before_, tree_of(folder_));
}

FileRecord read_file_record(const std::string& file,
                            const FileTree& before,
                            const FileTree& after) {
  FileRecord record{before, read_operations(file)};
  EXPECT_FALSE(record.operations.empty()) << "nothing was recorded";
  SimulatedDisk disk(before);
  for (const FileOperation& operation : record.operations) disk.apply(operation);
  const FileTree played = disk.as_written();
  for (const auto& [path, entry] : after) {
    EXPECT_TRUE(played.contains(path)) << path << " exists, but no operation created it";
    if (played.contains(path)) {
      EXPECT_TRUE(played.at(path) == entry) << path << " holds data that no operation wrote";
    }
  }
  for (const auto& [path, entry] : played) {
    EXPECT_TRUE(after.contains(path)) << path << " is gone, but no operation removed it";
  }
  return record;
}

std::string out_of_order(const std::vector<std::string>& lines,
                         const std::vector<std::string>& wanted) {
  auto from = lines.begin();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    from = std::find(from, lines.end(), wanted[i]);
    if (from == lines.end()) {
      std::string text = concat("no \"", wanted[i], "\"",
                                i == 0 ? "" : concat(" after \"", wanted[i - 1], "\""), " in:\n");
      for (const std::string& line : lines) text += "  " + line + "\n";
      return text;
    }
    ++from;
  }
  return "";
}

}  // namespace bp::test
