// A changed SQLite file of bert_train_parallel. Each three bytes of the input are an offset and the
// new byte at it; an offset beyond the end truncates the file. It is none any more, it is refused
// with an InputError, or its samples are in the order of their ids, and all or none have a split.
#include "trainer/tasks/classify/token_file.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/text.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"
#include "tests/support/token_database.h"
#include "trainer/tasks/classify/token_samples.h"

namespace {

using bp::trainer::TokenSamples;

// Its pages are small, so that it has pages of each kind.
std::string make_file() {
  const bp::test::InputFile file(".made");
  std::string statements = bp::concat(
      "PRAGMA page_size=512;", bp::trainer::kSamplesTable, bp::trainer::kLabelsTable,
      bp::trainer::kQueueTables, "INSERT INTO LabelEncodings VALUES ('0', 'good'), ('1', 'bad');");
  for (int i = 0; i < 40; ++i) {
    statements += bp::concat("INSERT INTO Samples VALUES (", i, ", '[101, ", i * 50,
                             ", 102, 0, 0]', '[1, 1, 1, 0, 0]', ", i % 2, "); INSERT INTO ",
                             i % 3 == 0 ? "TestQueue" : "TrainQueue", " VALUES (", i, ");");
  }
  const std::string path = bp::trainer::make_token_file(file.write(""), statements);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t count_samples(const std::string& path) {
  std::size_t count = 0;
  std::int64_t last = 0;
  for (TokenSamples samples(path); samples.next(); ++count) {
    if (count > 0 && samples.sample_id() <= last) std::abort();
    last = samples.sample_id();
    if (std::ranges::any_of(samples.ids(), [](std::int32_t id) { return id < 0; })) std::abort();
    if (!samples.ids().empty() && samples.ids().back() == 0) std::abort();
    if (bp::find_invalid_utf8(samples.label()) != std::string::npos) std::abort();
  }
  return count;
}

}  // namespace

FUZZ_TARGET(token_file) {
  static const bp::test::InputFile file(".sqlite");
  static const std::string whole = make_file();
  std::string bytes = whole;
  for (; size >= 3; data += 3, size -= 3) {
    const std::size_t offset = data[0] * 256U + data[1];
    if (offset >= bytes.size()) {
      bytes.resize(bytes.size() / 2);
    } else {
      bytes[offset] = static_cast<char>(data[2]);
    }
  }
  const std::string& path = file.write(bytes);
  if (!bp::trainer::is_token_file(path)) return 0;
  bp::test::read_input([&] {
    const std::size_t samples = count_samples(path);
    const std::size_t divided = bp::trainer::split_of_token_file(path).of_rows.size();
    if (divided != 0 && divided != samples) std::abort();
  });
  return 0;
}
