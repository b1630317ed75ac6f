// model.safetensors and pytorch_model.bin: the header, then every tensor that is not too large.
#include "trainer/model/files/tensor_file.h"

#include "fuzz.h"
#include "trainer/model/files/safetensors.h"

FUZZ_TARGET(tensor_file) {
  using namespace bp::trainer;
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  bp::test::read_anything([&] {
    const auto file = open_tensor_file(
        std::make_unique<MemoryBytes>(std::vector<std::uint8_t>(data, data + size)), "input");
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      const StoredTensor& tensor = file->tensors()[i];
      std::uint64_t bytes = element_bytes(tensor.type);
      for (const std::int64_t n : tensor.shape) bytes *= static_cast<std::uint64_t>(n);
      if (bytes > kMaxBytes) continue;
      std::vector<char> values(bytes);
      file->read(i, values.data());
    }
  });
  return 0;
}
