// The safetensors format: named arrays in one file, after a JSON header. Does not use LibTorch.
// Every length and offset of a file is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// Writes bytes that are, or belong, at `place` in the data of items.
using WritePiece = std::function<void(const void* place, std::span<const std::byte> bytes)>;

// Writes `path`, replacing an existing file, with __metadata__ {"format": "pt"}, which transformers
// requires, and syncs it to disk. Items are ordered by name. Throws io, naming `path`. An item that
// `write_pieces` gives pieces of is written from these alone, which must be all of it, each once.
void write_safetensors(
    const std::string& path,
    std::vector<SafetensorsItem> items,
    const std::function<void(const WritePiece&)>& write_pieces = [](const WritePiece&) {});

}  // namespace bp::trainer
