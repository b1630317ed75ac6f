#include "trainer/data/open_input.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "trainer/data/binary_kind.h"
#include "trainer/data/encoded_input.h"
#include "trainer/data/encoding.h"
#include "trainer/data/file_input.h"
#include "trainer/data/file_kind.h"
#include "trainer/data/gzip_input.h"
#include "trainer/data/zstd_input.h"

namespace bp::trainer {
namespace {

struct NamedInput {
  std::unique_ptr<ByteInput> bytes;
  std::string name;  // for errors about the content
};

// Returns the file, or what is packed in it.
NamedInput open_packed(const std::string& path) {
  std::unique_ptr<ByteInput> file = std::make_unique<FileInput>(path);
  const std::string unpacked = path + " (unpacked)";
  if (GzipInput::recognizes(file->start())) {
    return {std::make_unique<GzipInput>(std::move(file)), unpacked};
  }
  if (ZstdInput::recognizes(file->start())) {
    return {std::make_unique<ZstdInput>(std::move(file)), unpacked};
  }
  return {std::move(file), path};
}

}  // namespace

std::unique_ptr<ByteInput> open_input(const std::string& path, const std::string& encoding) {
  NamedInput opened = open_packed(path);
  std::unique_ptr<ByteInput> input = std::move(opened.bytes);
  const std::string& name = opened.name;
  refuse_binary_kinds(name, input->start());
  std::string found = encoding;
  if (encoding == kFindEncoding && has_utf16_mark(input->start())) found = "utf-16";
  if (found == kFindEncoding || found == "utf-8") {
    refuse_wide_text(name, input->start());
    refuse_binary_content(name, input->start());
  } else {
    input = std::make_unique<EncodedInput>(std::move(input), found);
  }
  refuse_json_array(name, input->start());
  return input;
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
