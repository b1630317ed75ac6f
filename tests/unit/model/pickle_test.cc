// Reading the pickle of a state_dict. torch_file_test.cc tests complete ones that torch.save wrote;
// this file tests mostly malicious and broken ones.
#include "trainer/model/files/pickle.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "refusal.h"
#include "small_zip.h"
#include "trainer/model/files/pickle_machine.h"

namespace bp::trainer {
namespace {

using namespace std::string_literals;
using test::number;
using test::refusal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kProtocol = "\x80\2"s;

std::string text(const std::string& value) { return "X" + number(value.size(), 4) + value; }
std::string integer(std::uint64_t value) { return "\x8a\x8"s + number(value, 8); }
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
std::string tuple(const std::vector<std::uint64_t>& numbers) {
  std::string items = "(";
  for (const std::uint64_t n : numbers) items += integer(n);
  return items + "t";
}

// The pickle of one tensor, "w".
struct OneTensor {
  std::string storage_type = "FloatStorage";
  std::uint64_t storage_elements = 6;
  std::uint64_t offset = 0;
  std::string shape = tuple({2, 3});
  std::string strides = tuple({3, 1});

  [[nodiscard]] std::string pickle() const {
    const std::string storage = "(" + text("storage") + global("torch", storage_type) + text("0") +
                                text("cpu") + integer(storage_elements) + "tQ";
    const std::string tensor = global("torch._utils", "_rebuild_tensor_v2") + "(" + storage +
                               integer(offset) + shape + strides + "\x89)tR";
    return kProtocol + "}" + text("w") + tensor + "s.";
  }
};

std::string refused(const std::string& pickle) {
  return refusal([&] { (void)parse_state_dict(pickle); });
}

TEST(Pickle, ReadsATensor) {
  OneTensor one;
  one.offset = 3;
  one.shape = tuple({3});
  one.strides = tuple({1});
  const std::vector<PickledTensor> tensors = parse_state_dict(one.pickle());
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].type, "F32");
  EXPECT_THAT(tensors[0].shape, ElementsAre(3));
  EXPECT_EQ(tensors[0].offset, 3);
  EXPECT_EQ(tensors[0].end(), 6);
  EXPECT_EQ(tensors[0].storage, "0");
  EXPECT_TRUE(tensors[0].contiguous());
}

// docs/acceptance.md, Strangers: A pickle can call only known functions.
TEST(Pickle, CallsOnlyKnownFunctions) {
  EXPECT_EQ(refused(kProtocol + global("posix", "system") + "(" + text("rm -rf /") + "tR."),
            "the pickle's byte 2: it asks for 'posix system', which no file of weights needs");
  EXPECT_THAT(refused(kProtocol + global("builtins", "eval") + "."), HasSubstr("'builtins eval'"));
  EXPECT_THAT(refused(kProtocol + global("torch", "FloatStorage") + ")R."),
              HasSubstr("'torch FloatStorage' is called with 0 arguments that it does not take"));
  EXPECT_THAT(refused(kProtocol + global("collections", "OrderedDict") + "(K\1tR."),
              HasSubstr("'collections OrderedDict' is called with 1 arguments"));
  EXPECT_THAT(refused(kProtocol + global("torch._utils", "_rebuild_parameter") + "(NtR."),
              HasSubstr("'torch._utils _rebuild_parameter' is called with 1 arguments"));
  EXPECT_THAT(refused(kProtocol + "}" + ")R."), HasSubstr("a dictionary is called with a tuple"));
  EXPECT_THAT(refused(kProtocol + "K\1Nb."), HasSubstr("attributes are given to a number"));
  EXPECT_THAT(refused(kProtocol + "(K\1tQ."), HasSubstr("a storage is named by a tuple, not by 5"));
  EXPECT_THAT(refused(kProtocol + global("a\x1b[31m", "b")), HasSubstr("'a?[31m b'"));
}

TEST(Pickle, RefusesOtherOperationsAndProtocols) {
  EXPECT_EQ(refused("\x80\4\x95"s), "the pickle's byte 0: protocol 4; torch.save writes 2");
  EXPECT_EQ(refused(kProtocol + "o."),
            "the pickle's byte 2: operation 0x6f, which torch.save never writes for a state_dict");
  EXPECT_THAT(refused(kProtocol + "\x93."), HasSubstr("operation 0x93"));
}

TEST(Pickle, NeverReadsBeyondItsBytes) {
  EXPECT_EQ(refused(""), "the pickle's byte 0: 1 bytes are needed, but 0 are left");
  EXPECT_THAT(refused(kProtocol + "J\1\2"), HasSubstr("4 bytes are needed, but 2 are left"));
  EXPECT_THAT(refused(kProtocol + "X\xff\xff\xff\xff"s + "abc"),
              HasSubstr("4294967295 bytes are needed, but 3 are left"));
  EXPECT_THAT(refused(kProtocol + "\x8a\x09"s + "123456789"), HasSubstr("a number of 9 bytes"));
  EXPECT_THAT(refused(kProtocol + "ctorch"), HasSubstr("a name does not end"));
  const std::string whole = OneTensor().pickle();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_THAT(refused(whole.substr(0, bytes)), HasSubstr("the pickle's byte ")) << bytes;
  }
}

TEST(Pickle, KeepsItsStackInOrder) {
  EXPECT_THAT(refused(kProtocol + "."), HasSubstr("it ends with values left over"));
  EXPECT_THAT(refused(kProtocol + "NN."), HasSubstr("it ends with values left over"));
  EXPECT_THAT(refused(kProtocol + "(N."), HasSubstr("it ends with values left over"));
  EXPECT_THAT(refused(kProtocol + "}.N"), HasSubstr("something follows its end"));
  EXPECT_THAT(refused(kProtocol + "N\x86"), HasSubstr("the stack has too few values"));
  EXPECT_THAT(refused(kProtocol + "N(N\x86"), HasSubstr("the stack has too few values"));
  EXPECT_THAT(refused(kProtocol + "t"), HasSubstr("the stack has no mark"));
  EXPECT_THAT(refused(kProtocol + "q\1"), HasSubstr("the stack has too few values"));
  EXPECT_THAT(refused(kProtocol + "h\1"), HasSubstr("memo 1 was never set"));
  EXPECT_THAT(refused(kProtocol + "Nr\xff\xff\xff\xff"), HasSubstr("memo 4294967295 is too large"));
  EXPECT_THAT(refused(kProtocol + "NNNs"), HasSubstr("items are put into a None"));
  EXPECT_THAT(refused(kProtocol + "}(Nu"), HasSubstr("a key without a value"));
}

// docs/acceptance.md, Strangers: A pickle takes bounded memory.
TEST(Pickle, BoundsItsMemory) {
  EXPECT_EQ(refused(std::string(kMaxPickle + 1, 'N')),
            "its pickle has 16777217 bytes; the most that bp reads is 16777216");
  EXPECT_THAT(refused(kProtocol + std::string(kMaxPickleValues + 1, 'N')),
              HasSubstr("more than 1048576 values"));
}

TEST(Pickle, RequiresADictionaryOfTensors) {
  EXPECT_EQ(refused(kProtocol + "N."), "it holds a None, not a state_dict");
  EXPECT_EQ(refused(kProtocol + "}" + text("epoch") + "K\3s."),
            "'epoch' is a number, not a tensor: save the state_dict alone");
  EXPECT_EQ(refused(kProtocol + "}K\1K\3s."), "a number names a tensor");
  std::string many = kProtocol + "}(";
  for (int i = 0; i <= 100'000; ++i) many += text(concat(i)) + "N";
  EXPECT_EQ(refused(many + "u."), "it has 100001 tensors; the most that bp reads is 100000");
  const std::string whole = OneTensor().pickle();
  const std::string item = whole.substr(3, whole.size() - 4);  // the key w and its tensor
  EXPECT_EQ(refused(kProtocol + "}" + item + item + "."), "'w' occurs twice");
}

TEST(Pickle, RefusesTensorsBeyondTheirStorage) {
  const auto refused_if = [](auto change) {
    OneTensor one;
    change(one);
    return refused(one.pickle());
  };
  EXPECT_EQ(refused_if([](OneTensor& o) { o.offset = 1; }),
            "tensor 'w' reaches element 6 of a storage of 6");
  EXPECT_EQ(refused_if([](OneTensor& o) {
              o.strides = tuple({4, 1});
            }),
            "tensor 'w' reaches element 6 of a storage of 6");
  EXPECT_EQ(refused_if([](OneTensor& o) { o.storage_elements = 0; }),
            "tensor 'w' reaches element 5 of a storage of 0");
  EXPECT_EQ(refused_if([](OneTensor& o) { o.offset = ~0ULL; }),
            "tensor 'w' is broken: its offset is not a natural number");
  EXPECT_EQ(refused_if([](OneTensor& o) {
              o.strides = tuple({3, ~0ULL});
            }),
            "tensor 'w' is broken: its strides is not a natural number");
  EXPECT_EQ(refused_if([](OneTensor& o) {
              o.shape = tuple({1ULL << 40, 1ULL << 40});
            }),
            "tensor 'w' is too large");
  EXPECT_EQ(refused_if([](OneTensor& o) {
              o.strides = tuple({1ULL << 62, 1ULL << 62});
            }),
            "tensor 'w' is too large");
  EXPECT_EQ(refused_if([](OneTensor& o) { o.strides = tuple({1}); }),
            "tensor 'w' is broken: 2 dimensions and 1 strides");
  EXPECT_EQ(refused_if([](OneTensor& o) { o.shape = "N"; }),
            "tensor 'w' is broken: its shape is not a tuple");
  EXPECT_EQ(refused_if([](OneTensor& o) { o.shape = tuple(std::vector<std::uint64_t>(17, 1)); }),
            "tensor 'w' has 17 dimensions; the most that bp reads is 16");
  EXPECT_THAT(refused_if([](OneTensor& o) { o.storage_type = "ComplexFloatStorage"; }),
              HasSubstr("'torch ComplexFloatStorage'"));
}

TEST(Pickle, RefusesTensorsWithoutAStorage) {
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  EXPECT_EQ(refused(kProtocol + "}" + text("w") + rebuild + "(NK\1))\x89)tRs."),
            "tensor 'w' is broken: it has no storage");
  const std::string untyped = "(" + text("storage") + "N" + text("0") + text("cpu") + "K\1tQ";
  EXPECT_EQ(refused(kProtocol + "}" + text("w") + rebuild + "(" + untyped + "K\1))\x89)tRs."),
            "tensor 'w' is broken: its storage has no type");
}

}  // namespace
}  // namespace bp::trainer
