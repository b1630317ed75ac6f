// Writes a TFRecord file: records with their length and checksums, as TensorFlow and TensorBoard
// read them.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace bp::trainer {

// Returns the record as the file holds it.
[[nodiscard]] std::string framed_record(std::string_view content);

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
