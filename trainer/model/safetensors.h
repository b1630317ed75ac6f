// The safetensors format: named arrays in one file, a JSON header before them. No LibTorch here.
// A file is trusted in nothing: every length and offset is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/byte_source.h"

namespace bp::trainer {

// Bytes of one element of a type as the format names it; 0 for a name that it does not know.
[[nodiscard]] std::uint64_t element_bytes(std::string_view type);

struct SafetensorsEntry {
  std::string name;
  std::string type;                 // "F32", "F16", "BF16", "I64", ...
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::uint64_t begin = 0;          // bytes, from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Checks and reads the header's JSON for a file with `data_bytes` bytes behind it. Throws
// invalid_argument (doubled names, unknown types, sizes that contradict, holes, overlaps, bytes
// left over); the text does not name the file.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(const std::string& json,
                                                         std::uint64_t data_bytes);

class SafetensorsReader {
 public:
  // Throws io (can't be read) or invalid_argument (see above), naming `path`.
  explicit SafetensorsReader(const std::string& path);
  // The same from anywhere; errors call it `name`.
  SafetensorsReader(std::unique_ptr<ByteSource> source, const std::string& name);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  [[nodiscard]] const SafetensorsHeader& header() const;
  // Its bytes, (end - begin) of them, to `to`. Throws io.
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

// Writes `path` (over what is there) with __metadata__ {"format": "pt"}, as transformers wants it,
// and puts it on disk before it returns. Items are ordered by name. Throws io, naming `path`.
void write_safetensors(const std::string& path, std::vector<SafetensorsItem> items);

}  // namespace bp::trainer
