// A shard of pre-training: an HDF5 file of any bytes. It is refused with an InputError, or each of
// its instances has numbers that a model can take.
#include "fuzz.h"
#include "input_file.h"
#include "trainer/tasks/pretrain/shard_reader.h"

// Debian's HDF5 leaks some KiB where a file is broken. It has no symbols to name a function by.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
// It asks for as much memory as a broken file says, and refuses the file if there is none.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

FUZZ_TARGET(shard) {
  constexpr std::int64_t kVocabulary = 20;
  constexpr int kMostRows = 1000;  // a file of a few bytes may claim any number of rows
  static const bp::test::InputFile file(".hdf5");
  const std::string& path = file.write(bp::test::text_of(data, size));
  bp::test::read_input([&] {
    bp::trainer::ShardReader reader(path, kVocabulary);
    for (int row = 0; row < kMostRows && reader.next(); ++row) {
      const bp::trainer::Instance instance = reader.instance();
      if (instance.first < 1 || instance.positions.size() != instance.ids.size()) std::abort();
      for (const auto id : instance.tokens) {
        if (id < 0 || id >= kVocabulary) std::abort();
      }
      for (const auto position : instance.positions) {
        if (static_cast<std::size_t>(position) >= instance.tokens.size()) std::abort();
      }
    }
  });
  return 0;
}
