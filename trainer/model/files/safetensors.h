// The safetensors format: named arrays in one file, after a JSON header. Does not use LibTorch.
// Every length and offset of a file is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/fd.h"
#include "trainer/model/files/byte_source.h"

namespace bp::trainer {

// Returns the bytes per element of a type in the format's notation; 0 for an unknown name.
[[nodiscard]] std::uint64_t element_bytes(std::string_view type);

struct SafetensorsEntry {
  std::string name;
  std::string type;                 // "F32", "F16", "BF16", "I64", ...
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::uint64_t begin = 0;          // in bytes, from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Checks and parses the header's JSON for a file with `data_bytes` bytes after it. Throws
// invalid_argument for duplicate names, unknown types, contradicting sizes, gaps, overlaps and
// leftover bytes; the error does not name the file.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(const std::string& text,
                                                         std::uint64_t data_bytes);

class SafetensorsReader {
 public:
  // Opens a file. Throws io if it cannot be read, or invalid_argument (see above), naming `path`.
  explicit SafetensorsReader(const std::string& path);
  // The same for any source; errors name it `name`.
  SafetensorsReader(std::unique_ptr<ByteSource> source, const std::string& name);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  [[nodiscard]] const SafetensorsHeader& header() const;
  // Reads the entry's (end - begin) bytes to `to`. Throws io.
  void read(const SafetensorsEntry& entry, void* to) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct SafetensorsItem {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // row-major, little-endian
};

// Writes a file, with __metadata__ {"format": "pt"}, which transformers requires. Its functions
// throw io, naming the file.
class SafetensorsWriter {
 public:
  // Replaces an existing file. Items are ordered by name.
  SafetensorsWriter(const std::string& path, std::vector<SafetensorsItem> items);
  // Writes bytes of an item, from number `offset` on; nothing if there is no such item. An item
  // that pieces are written of needs no data: the pieces must be all of it, each once.
  void write_piece(const std::string& item, std::uint64_t offset, std::span<const std::byte> bytes);
  // Writes the other items, and syncs the file to disk.
  void finish();

 private:
  void write(const void* bytes, std::uint64_t count);
  void seek(std::uint64_t place);

  struct Place {
    SafetensorsItem item;
    std::uint64_t begin = 0;  // in the file
    std::uint64_t bytes = 0;
    bool has_pieces = false;
  };
  const std::string path_;
  std::map<std::string, Place> places_;  // by name
  Fd file_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;  // bytes to write
};

// Writes such a file, and syncs it to disk.
void write_safetensors(const std::string& path, std::vector<SafetensorsItem> items);

}  // namespace bp::trainer
