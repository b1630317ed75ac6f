// Writes a TFRecord file: records with their length and checksums, as TensorFlow and TensorBoard
// read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/system/fd.h"

namespace bp::trainer {

// CRC-32C (Castagnoli), as in RFC 3720.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

// The form in which a TFRecord file stores it: a checksum over data that contains checksums would
// be weak, so it is rotated and shifted by a constant.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes);

class RecordWriter {
 public:
  // Makes the file, which must not exist. Throws io, as does write().
  explicit RecordWriter(const std::string& path);
  // Appends with one write(2), so that a reader never sees two records mixed.
  void write(std::string_view content);

 private:
  std::string path_;
  Fd file_;
};

}  // namespace bp::trainer
