#include "trainer/data/open_input.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "trainer/data/file_input.h"
#include "trainer/data/file_kind.h"
#include "trainer/data/gzip_input.h"
#include "trainer/data/zstd_input.h"

namespace bp::trainer {

std::unique_ptr<ByteInput> open_input(const std::string& path) {
  std::unique_ptr<ByteInput> file = std::make_unique<FileInput>(path);
  std::unique_ptr<ByteInput> unpacked;
  if (GzipInput::recognizes(file->start())) {
    unpacked = std::make_unique<GzipInput>(std::move(file));
  } else if (ZstdInput::recognizes(file->start())) {
    unpacked = std::make_unique<ZstdInput>(std::move(file));
  } else {
    refuse_other_kinds(path, file->start());
    return file;
  }
  refuse_other_kinds(concat(path, " (unpacked)"), unpacked->start());
  return unpacked;
}

std::string unpacked_name(const std::string& path) {
  constexpr std::array<std::string_view, 2> kSuffixes{".gz", ".zst"};
  const std::string lower = lower_case(path);
  for (const std::string_view suffix : kSuffixes) {
    const bool named = lower.size() > suffix.size() && path[path.size() - suffix.size() - 1] != '/';
    if (named && lower.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

}  // namespace bp::trainer
