#include "trainer/input/open_input.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "trainer/input/compressed_input.h"
#include "trainer/input/encoding.h"
#include "trainer/input/file_kind.h"

namespace bp::trainer {

std::unique_ptr<ByteInput> open_input(const std::string& path, const std::string& encoding) {
  std::unique_ptr<ByteInput> input = std::make_unique<FileInput>(path);
  const std::string name = unpack(input) ? path + " (unpacked)" : path;  // for errors about content
  refuse_binary_kinds(name, input->start());
  std::string found = encoding;
  if (encoding == kFindEncoding && has_utf16_mark(input->start())) found = "utf-16";
  if (found == kFindEncoding || found == "utf-8") {
    refuse_other_encodings(name, input->start());
  } else {
    input = in_utf8(std::move(input), found);
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
