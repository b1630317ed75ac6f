// A changed store. Each three bytes of the input are an offset and the new byte at it; an offset
// beyond the end truncates the file. The first byte selects a finished store or an unfinished one
// that is resumed.
#include "trainer/store/sample_store.h"

#include <algorithm>
#include <iterator>

#include "fuzz.h"
#include "input_file.h"
#include "tests/support/classify_data.h"
#include "trainer/store/store_writer.h"

namespace {

using namespace bp::trainer;

std::string make_store(bool finished) {
  static const bp::test::InputFile file(finished ? "-whole" : "-half");
  const std::string path = file.write("");
  StoreWriter writer(path, {.task = "classify",
                            .schema = label_schema(),
                            .names = {"bad", "good"},
                            .vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "fine"},
                            .max_length = 16,
                            .fingerprint = {{"max length", "16"}},
                            .source_rows = {1200}});
  const std::vector<std::int32_t> ids = {2, 4, 3};
  for (int text = 1; text <= 1100; ++text) {
    writer.add_text(text % 9 == 0 ? Split::dev : Split::train, text, "fine");
    add_labelled(writer, text % 9 == 0 ? Split::dev : Split::train, text, text % 2, ids);
  }
  if (finished) writer.finish();
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void read_all(const std::string& path) {
  const SampleStore store = SampleStore::open(path);
  for (const Split split : {Split::train, Split::dev, Split::test}) {
    constexpr std::int64_t kMost = 2000;
    bp::test::read_input([&] { (void)store.lengths(split); });
    for (std::int64_t i = 0; i < std::min(store.size(split), kMost); ++i) {
      bp::test::read_input([&] { (void)store.text(store.load(split, i).text_id, split); });
    }
  }
  store.verify();
}

}  // namespace

FUZZ_TARGET(sample_store) {
  static const std::string whole = make_store(true);
  static const std::string half = make_store(false);
  static const bp::test::InputFile file("");
  if (size == 0) return 0;
  const bool finished = (data[0] & 1U) != 0;
  std::string bytes = finished ? whole : half;
  for (std::size_t i = 1; i + 3 <= size; i += 3) {
    const std::size_t at = data[i] + std::size_t{256} * data[i + 1];
    if (at >= bytes.size()) {
      bytes.resize(bytes.size() - std::min(bytes.size(), std::size_t{97} * data[i + 2]));
    } else {
      bytes[at] = static_cast<char>(data[i + 2]);
    }
  }
  const std::string& path = file.write(bytes);
  bp::test::read_input([&] {
    if (finished) {
      read_all(path);
    } else {
      StoreWriter writer(path);
      writer.add_text(Split::train, 2000, "fine");
      writer.finish();
    }
  });
  return 0;
}
