// Builds zip files of which every field can be wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer::test {

inline std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

struct SmallEntry {
  std::string name = {};
  std::string content = {};
  int method = 0;  // stored
  int flags = 0;
  std::string other_name = {};  // the name in the local header
  bool in_64 = false;           // the sizes are in the 64-bit extra field
};

struct SmallZip {
  std::vector<SmallEntry> entries = {};
  std::uint64_t more_entries = 0;  // the end record counts these entries in excess
  std::string comment = {};
  bool with_64 = false;  // also writes the 64-bit end record
  std::uint64_t directory_moved = 0;
  int disk = 0;

  [[nodiscard]] std::string bytes() const {
    std::string all;
    std::string directory;
    for (const SmallEntry& entry : entries) {
      const std::uint64_t at = all.size();
      const std::string local = entry.other_name.empty() ? entry.name : entry.other_name;
      const std::string sizes =
          entry.in_64 ? number(~0ULL, 8)
                      : number(entry.content.size(), 4) + number(entry.content.size(), 4);
      const std::string extra = entry.in_64 ? number(1, 2) + number(16, 2) +
                                                  number(entry.content.size(), 8) +
                                                  number(entry.content.size(), 8)
                                            : "";
      const std::string head = number(static_cast<unsigned>(entry.flags), 2) +
                               number(static_cast<unsigned>(entry.method), 2) + number(0, 8);
      all += "PK\3\4" + number(45, 2) + head + sizes + number(local.size(), 2) + number(0, 2) +
             local + entry.content;
      directory += "PK\1\2" + number(45, 2) + number(45, 2) + head + sizes +
                   number(entry.name.size(), 2) + number(extra.size(), 2) + number(0, 8) +
                   number(0, 2) + number(at, 4) + entry.name + extra;
    }
    const std::uint64_t count = entries.size() + more_entries;
    const std::uint64_t begin = all.size() + directory_moved;
    all += directory;
    if (with_64) {
      const std::uint64_t at = all.size();
      all += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
             number(count, 8) + number(count, 8) + number(directory.size(), 8) + number(begin, 8);
      all += "PK\6\7" + number(0, 4) + number(at, 8) + number(1, 4);
    }
    const bool small = !with_64;
    return all + "PK\5\6" + number(static_cast<unsigned>(disk), 2) + number(0, 2) +
           number(small ? count : 0xffff, 2) + number(small ? count : 0xffff, 2) +
           number(small ? directory.size() : 0xffffffff, 4) +
           number(small ? begin : 0xffffffff, 4) + number(comment.size(), 2) + comment;
  }
};

}  // namespace bp::trainer::test
