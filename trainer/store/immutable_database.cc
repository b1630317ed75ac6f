#include "trainer/store/immutable_database.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "base/system/regular_file.h"

namespace bp::trainer {
namespace {

// Returns the path as an SQLite URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += c == '%' ? "%25" : c == '?' ? "%3F" : "%23";
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

// SQLite's header has the id at byte 68, as a big-endian number.
std::optional<int> application_of(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kPlace = 68;
  std::array<char, kPlace + sizeof(std::uint32_t)> header{};
  if (!open_regular_file(path).fd) return std::nullopt;
  if (!std::ifstream(path, std::ios::binary).read(header.data(), header.size()))
    return std::nullopt;
  if (!std::string_view(header.data(), header.size()).starts_with(kMagic)) return std::nullopt;
  std::uint32_t id = 0;
  for (std::size_t i = kPlace; i < header.size(); ++i) {
    id = id << 8 | static_cast<unsigned char>(header[i]);
  }
  return static_cast<int>(id);
}

// With a mapped file, a broken disk or a process that truncates the file would cause a SIGBUS.
SQLite::Database open_immutable(const std::string& path) {
  SQLite::Database database(uri_of(path),
                            SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX);
  database.exec("PRAGMA mmap_size=0");
  return database;
}

}  // namespace bp::trainer
