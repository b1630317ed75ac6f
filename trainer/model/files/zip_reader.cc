#include "trainer/model/files/zip_reader.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kLocal = "PK\3\4";
constexpr std::string_view kCentral = "PK\1\2";
constexpr std::string_view kEnd = "PK\5\6";
constexpr std::string_view kEnd64 = "PK\6\6";
constexpr std::string_view kLocator64 = "PK\6\7";

// The bytes of each record without its variable part.
constexpr std::uint64_t kLocalBytes = 30;
constexpr std::uint64_t kCentralBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kLocator64Bytes = 20;

constexpr std::uint64_t kMaxComment = 0xffff;
constexpr std::uint64_t kMaxDirectory = 32 << 20;  // a large BERT needs 40 KiB
constexpr std::uint32_t kIn64 = 0xffffffff;        // means: the number is in the 64-bit record
constexpr std::uint16_t kExtra64 = 1;

std::uint16_t u16(const std::string& record, std::size_t at) {
  return little_endian<std::uint16_t>(record.data() + at);
}
std::uint32_t u32(const std::string& record, std::size_t at) {
  return little_endian<std::uint32_t>(record.data() + at);
}
std::uint64_t u64(const std::string& record, std::size_t at) {
  return little_endian<std::uint64_t>(record.data() + at);
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  // Offset of the records that describe the directory, which must end before them.
  std::uint64_t limit = 0;
};

// Finds the last end record whose comment ends with the file.
std::uint64_t find_end(const ByteSource& source) {
  const std::uint64_t size = source.size();
  if (size < kEndBytes) refuse(concat("it has only ", size, " bytes"));
  const std::uint64_t begin = size - std::min(size, kEndBytes + kMaxComment);
  const std::string tail = read_text(source, begin, size - begin);
  for (std::size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    if (std::string_view(tail).substr(at, kEnd.size()) != kEnd) continue;
    if (at + kEndBytes + u16(tail, at + 20) == tail.size()) return begin + at;
  }
  refuse("it has no directory at its end: it is cut off, or not a zip file");
}

Directory read_end64(const ByteSource& source,
                     std::uint64_t locator_at,
                     const std::string& locator) {
  const std::uint64_t at = u64(locator, 8);
  if (at > locator_at || locator_at - at < kEnd64Bytes) {
    refuse(concat("its 64-bit directory record is said to lie at byte ", at));
  }
  const std::string end = read_text(source, at, kEnd64Bytes);
  if (!end.starts_with(kEnd64)) refuse(concat("no 64-bit directory record at byte ", at));
  if (u32(end, 16) != 0 || u32(end, 20) != 0) refuse("it is spread over several disks");
  return {u64(end, 32), u64(end, 48), u64(end, 40), at};
}

Directory find_directory(const ByteSource& source) {
  const std::uint64_t at = find_end(source);
  const std::string end = read_text(source, at, kEndBytes);
  Directory directory{u16(end, 10), u32(end, 16), u32(end, 12), at};
  if (at >= kLocator64Bytes) {
    const std::string locator = read_text(source, at - kLocator64Bytes, kLocator64Bytes);
    if (locator.starts_with(kLocator64)) {
      directory = read_end64(source, at - kLocator64Bytes, locator);
    }
  }
  if (u16(end, 4) != 0 || u16(end, 6) != 0) refuse("it is spread over several disks");
  if (directory.bytes > kMaxDirectory) {
    refuse(concat("its directory is said to have ", directory.bytes,
                  " bytes; the most that bp reads is ", kMaxDirectory));
  }
  if (directory.offset > directory.limit || directory.bytes > directory.limit - directory.offset) {
    refuse(concat("its directory is said to lie at byte ", directory.offset, " with ",
                  directory.bytes, " bytes, beyond byte ", directory.limit));
  }
  return directory;
}

// Reads the numbers that did not fit into 32 bits from an extra field, which has them in this
// order.
void take_extra64(const std::string& extra, ZipEntry& entry, std::uint64_t& stored) {
  std::size_t at = 0;
  while (extra.size() - at >= 4) {
    const std::size_t bytes = u16(extra, at + 2);
    if (bytes > extra.size() - at - 4) break;
    if (u16(extra, at) != kExtra64) {
      at += 4 + bytes;
      continue;
    }
    std::size_t next = at + 4;
    const std::size_t end = next + bytes;
    for (std::uint64_t* number : {&entry.bytes, &stored, &entry.offset}) {
      if (*number != kIn64) continue;
      if (end - next < 8) refuse(concat(in_quotes(entry.name), " lacks a 64-bit number"));
      *number = u64(extra, next);
      next += 8;
    }
    return;
  }
}

// Moves entry.offset from the entry's local record to the bytes after it.
void pass_local_record(const ByteSource& source, std::uint64_t limit, ZipEntry& entry) {
  const std::uint64_t at = entry.offset;
  const auto outside = [&] {
    refuse(concat(in_quotes(entry.name), " is said to lie at byte ", at, " with ", entry.bytes,
                  " bytes; the entries end at byte ", limit));
  };
  if (at > limit || limit - at < kLocalBytes) outside();
  const std::string local = read_text(source, at, kLocalBytes);
  if (!local.starts_with(kLocal)) {
    refuse(concat("no entry ", in_quotes(entry.name), " at byte ", at));
  }
  const std::uint64_t names = std::uint64_t{u16(local, 26)} + u16(local, 28);
  if (limit - at - kLocalBytes < names) outside();
  entry.offset = at + kLocalBytes + names;
  if (limit - entry.offset < entry.bytes) outside();
  if (read_text(source, at + kLocalBytes, u16(local, 26)) != entry.name) {
    refuse(concat("the entry at byte ", at, " is not ", in_quotes(entry.name),
                  ", as the directory says"));
  }
}

// Parses the entry at offset `at` of the directory's text and moves `at` behind it.
ZipEntry parse_entry(const std::string& text, std::size_t& at) {
  if (text.size() - at < kCentralBytes || text.compare(at, kCentral.size(), kCentral) != 0) {
    refuse(concat("its directory is broken at its byte ", at));
  }
  const std::string record = text.substr(at, kCentralBytes);
  const std::size_t name_bytes = u16(record, 28);
  const std::size_t extra_bytes = u16(record, 30);
  const std::size_t all = kCentralBytes + name_bytes + extra_bytes + u16(record, 32);
  if (text.size() - at < all) refuse(concat("its directory is broken at its byte ", at));
  ZipEntry entry;
  entry.name = text.substr(at + kCentralBytes, name_bytes);
  entry.offset = u32(record, 42);
  entry.bytes = u32(record, 24);
  std::uint64_t stored = u32(record, 20);
  take_extra64(text.substr(at + kCentralBytes + name_bytes, extra_bytes), entry, stored);
  if ((u16(record, 8) & 1) != 0) refuse(concat(in_quotes(entry.name), " is encrypted"));
  if (u16(record, 10) != 0 || stored != entry.bytes) {
    refuse(
        concat(in_quotes(entry.name), " is compressed; torch.save stores its entries as they are"));
  }
  at += all;
  return entry;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const ByteSource& source) {
  const Directory directory = find_directory(source);
  const std::string text = read_text(source, directory.offset, directory.bytes);
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    ZipEntry entry = parse_entry(text, at);
    pass_local_record(source, directory.offset, entry);
    if (!names.insert(entry.name).second) refuse(concat(in_quotes(entry.name), " occurs twice"));
    entries.push_back(std::move(entry));
  }
  if (entries.size() != directory.entries) {
    refuse(concat("its directory is said to have ", directory.entries, " entries and has ",
                  entries.size()));
  }
  return entries;
}

}  // namespace bp::trainer
