// Reading a pytorch_model.bin that PyTorch wrote (tests/golden/torch_file/make.py), and refusing
// other files.
#include "trainer/model/files/torch_file.h"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "refusal.h"
#include "small_zip.h"
#include "tests/support/places.h"
#include "trainer/model/files/safetensors.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;
using test::refusal;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string kGolden = kSourceDir + "/tests/golden/torch_file/";

// One tensor of a file.
struct Read {
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

Read read(const TensorFile& file, const std::string& name) {
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const StoredTensor& tensor = file.tensors()[i];
    if (tensor.name != name) continue;
    std::uint64_t bytes = element_bytes(tensor.type);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
    Read result{tensor.type, tensor.shape, std::string(bytes, '\0')};
    file.read(i, result.bytes.data());
    return result;
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

template <class T>
std::vector<T> values(const Read& tensor) {
  std::vector<T> result(tensor.bytes.size() / sizeof(T));
  std::memcpy(result.data(), tensor.bytes.data(), tensor.bytes.size());
  return result;
}

TEST(TorchFile, ReadsEachTypeOfAStateDict) {
  const auto file = open_tensor_file(kGolden + "types.bin");
  EXPECT_EQ(file->tensors().size(), 7U);
  EXPECT_EQ(read(*file, "single").type, "F32");
  EXPECT_THAT(read(*file, "single").shape, ElementsAre(2, 3));
  EXPECT_THAT(values<float>(read(*file, "single")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(read(*file, "half").type, "F16");
  EXPECT_THAT(values<std::uint16_t>(read(*file, "half")), ElementsAre(0, 0x3c00, 0x4000, 0x4200));
  EXPECT_EQ(read(*file, "brain").type, "BF16");
  EXPECT_THAT(values<std::uint16_t>(read(*file, "brain")), ElementsAre(0, 0x3f80, 0x4000));
  EXPECT_EQ(read(*file, "double").type, "F64");
  EXPECT_THAT(values<double>(read(*file, "double")), ElementsAre(0));
  EXPECT_THAT(read(*file, "double").shape, ElementsAre());
  EXPECT_EQ(read(*file, "long").type, "I64");
  EXPECT_THAT(values<std::int64_t>(read(*file, "long")), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(read(*file, "none").shape, ElementsAre(0, 4));
  EXPECT_EQ(read(*file, "none").bytes, "");
}

TEST(TorchFile, ReadsViewsOfASharedStorage) {
  const auto file = open_tensor_file(kGolden + "views.bin");
  const auto numbers = [&](const char* name) { return values<float>(read(*file, name)); };
  EXPECT_THAT(numbers("base"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(read(*file, "transposed").shape, ElementsAre(4, 3));
  EXPECT_THAT(numbers("transposed"), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(numbers("corner"), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(numbers("row"), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(numbers("expanded"), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(numbers("parameter"), ElementsAre(0, 1));
}

TEST(TorchFile, RefusesAndNamesOtherFiles) {
  const auto refused = [](const std::string& path) {
    return refusal([&] { (void)open_tensor_file(path); });
  };
  EXPECT_THAT(
      refused(kGolden + "legacy.bin"),
      EndsWith("legacy.bin was saved by a PyTorch before 1.6: load and save it with a newer "
               "one, or convert it to safetensors"));
  EXPECT_THAT(
      refused(kGolden + "checkpoint.bin"),
      EndsWith("checkpoint.bin is not a valid file of torch.save: 'model' is a dictionary, not "
               "a tensor: save the state_dict alone"));
  EXPECT_THAT(refused(kGolden + "make.py"), HasSubstr("make.py is not a valid safetensors file: "));
  EXPECT_THAT(refusal([] { (void)open_tensor_file("/nowhere/x.bin"); }, ErrorCode::io),
              HasSubstr("cannot open /nowhere/x.bin: No such file"));
  EXPECT_THAT(refusal([] { (void)open_tensor_file(kGolden); }, ErrorCode::io),
              HasSubstr("it is a folder, not a regular file"));
}

class Handmade : public ::testing::Test {
 protected:
  static std::string refused(const std::vector<test::SmallEntry>& entries) {
    const std::string bytes = test::SmallZip{entries}.bytes();
    return refusal([&] {
      (void)open_tensor_file(
          std::make_unique<MemoryBytes>(std::vector<std::uint8_t>(bytes.begin(), bytes.end())),
          "x.bin");
    });
  }
  const std::string is_none_ = "x.bin is not a valid file of torch.save: ";
  // The pickle of one tensor "a" of two float32 elements.
  const std::string one_ =
      "\x80\2}X\1\0\0\0actorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
      "X\1\0\0\0000X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89)tRs."s;
};

TEST_F(Handmade, StoragesMustExistAndFit) {
  EXPECT_EQ(refused({{"m/data.pkl", one_}}), is_none_ + "the storage '0' of 'a' is missing");
  EXPECT_EQ(refused({{"m/data.pkl", one_}, {"m/data/0", "1234567"}}),
            is_none_ + "the storage '0' of 'a' has 7 bytes, not 2 elements of 4");
}

TEST_F(Handmade, TheArchiveMustHaveOnePickle) {
  EXPECT_EQ(refused({{"m/x", ""}}), is_none_ + "it has no data.pkl");
  EXPECT_EQ(refused({{"/data.pkl", one_}}), is_none_ + "its data.pkl is not in a folder");
  EXPECT_EQ(refused({{"m/data.pkl", one_}, {"n/data.pkl", one_}}),
            is_none_ + "it has several data.pkl");
  EXPECT_EQ(refused({{"m/data.pkl", one_}, {"m/byteorder", "big"}}),
            is_none_ + "its byte order is 'big', not 'little'");
  EXPECT_EQ(refused({{"m/data.pkl", std::string((16 << 20) + 1, 'N')}}),
            is_none_ + "its pickle has 16777217 bytes; the most that bp reads is 16777216");
}

TEST(TensorFile, NamesAPointerOfGitLfs) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\n";
  EXPECT_EQ(
      refusal([&] {
        (void)open_tensor_file(std::make_unique<MemoryBytes>(
                                   std::vector<std::uint8_t>(pointer.begin(), pointer.end())),
                               "m");
      }),
      "m holds no weights, only a pointer of Git LFS to them: fetch them with `git lfs pull`");
}

}  // namespace
}  // namespace bp::trainer
