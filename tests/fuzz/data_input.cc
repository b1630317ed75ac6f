// A data file that may be compressed or in any encoding. The first byte selects what happens to the
// other bytes: they are the file, or its content in one or two compressed parts, perhaps cut.
#include <array>

#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"
#include "tests/support/compressed.h"
#include "trainer/input/open_input.h"

namespace {

using bp::trainer::BrokenInput;

struct Content {
  std::string bytes;
  std::string problem;  // empty: read to its end
  bool opened = false;
};

// Reads `at_once` bytes at a time.
Content read_all(const std::string& path, const std::string& encoding, std::size_t at_once) {
  Content content;
  bp::test::read_input([&] {
    const auto input = bp::trainer::open_input(path, encoding);
    content.opened = true;
    std::string room(at_once, '\0');
    try {
      while (const std::size_t count = input->read(room)) content.bytes.append(room, 0, count);
    } catch (const BrokenInput& broken) {
      content.problem = broken.what();
    }
  });
  return content;
}

void read_raw(const std::string& path, const std::string& encoding) {
  const Content a = read_all(path, encoding, 1U << 20U);
  const Content b = read_all(path, encoding, 7);
  if (a.problem.empty() != b.problem.empty()) std::abort();
  if (a.problem.empty() && a.bytes != b.bytes) std::abort();
  if (!a.bytes.starts_with(b.bytes) && !b.bytes.starts_with(a.bytes)) std::abort();
  const bool converted = !encoding.empty() && encoding != "utf-8";
  if (converted && bp::find_invalid_utf8(a.bytes) != std::string::npos) std::abort();
}

}  // namespace

FUZZ_TARGET(data_input) {
  static const bp::test::InputFile file("");
  static const std::array<std::string, 8> encodings{
      "", "utf-8", "utf-16", "utf-32", "windows-1252", "shift_jis", "utf-7", "gb18030"};
  if (size < 2) return 0;
  const std::string bytes = bp::test::text_of(data + 2, size - 2);
  const unsigned kind = data[0] & 3U;
  const bool zstd = (data[0] & 4U) != 0;
  const auto pack = [&](const std::string& text) {
    return zstd ? bp::zstd_of(text) : bp::gzip_of(text);
  };
  if (kind == 0) {
    read_raw(file.write(bytes), encodings[(data[0] >> 4U) & 7U]);
    return 0;
  }
  if (kind == 1) {
    const std::size_t cut = bytes.size() * data[1] / 256;
    const std::string two = pack(bytes.substr(0, cut)) + pack(bytes.substr(cut));
    const Content read = read_all(file.write(two), "utf-8", 1000);
    if (read.opened && (read.bytes != bytes || !read.problem.empty())) std::abort();
    return 0;
  }
  const std::string packed = pack(bytes);
  const std::size_t length = 4 + (packed.size() - 4) * data[1] / 256;
  const Content read = read_all(file.write(packed.substr(0, length)), "utf-8", 1000);
  if (read.opened && (read.problem.empty() || !bytes.starts_with(read.bytes))) std::abort();
  return 0;
}
