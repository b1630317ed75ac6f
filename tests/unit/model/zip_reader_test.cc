// The zip container of pytorch_model.bin. The reader takes what PyTorch writes and refuses anything
// else.
#include "trainer/model/files/zip_reader.h"

#include <gmock/gmock.h>

#include "refusal.h"
#include "small_zip.h"

namespace bp::trainer {
namespace {

using test::refusal;
using test::SmallZip;
using ::testing::HasSubstr;

MemoryBytes source_of(const std::string& bytes) {
  return MemoryBytes(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

std::string content(const std::string& zip, std::size_t index) {
  const MemoryBytes source = source_of(zip);
  const ZipEntry entry = read_zip_directory(source).at(index);
  return read_text(source, entry.offset, entry.bytes);
}

std::string refused(const SmallZip& zip) {
  return refusal([&] { (void)read_zip_directory(source_of(zip.bytes())); });
}

std::string refused_bytes(const std::string& bytes) {
  return refusal([&] { (void)read_zip_directory(source_of(bytes)); });
}

TEST(ZipReader, FindsTheBytesOfEachEntry) {
  const SmallZip zip{{{"a/b", "first"}, {"a/empty", ""}, {"a/c", "third"}}};
  EXPECT_EQ(read_zip_directory(source_of(zip.bytes())).size(), 3U);
  EXPECT_EQ(read_zip_directory(source_of(zip.bytes()))[2].name, "a/c");
  EXPECT_EQ(content(zip.bytes(), 0), "first");
  EXPECT_EQ(content(zip.bytes(), 1), "");
  EXPECT_EQ(content(zip.bytes(), 2), "third");
}

TEST(ZipReader, TakesThe64BitExtensionAndAComment) {
  SmallZip zip{{{"a", "first"}, {"b", "second", 0, 0, "", true}}};
  zip.with_64 = true;
  zip.comment = "PK\5\6 is not an end here, however long it is";
  EXPECT_EQ(content(zip.bytes(), 0), "first");
  EXPECT_EQ(content(zip.bytes(), 1), "second");
}

TEST(ZipReader, RefusesFeaturesThatTorchSaveNeverUses) {
  EXPECT_EQ(refused({{{"a", "x", 8}}}),
            "'a' is compressed; torch.save stores its entries as they are");
  EXPECT_EQ(refused({{{"a", "x", 0, 1}}}), "'a' is encrypted");
  EXPECT_EQ(refused({{{"a", "x"}, {"a", "y"}}}), "'a' occurs twice");
  SmallZip disks{{{"a", "x"}}};
  disks.disk = 1;
  EXPECT_EQ(refused(disks), "it is spread over several disks");
}

// docs/acceptance.md, Strangers: A zip file whose records contradict each other is refused.
TEST(ZipReader, RefusesContradictoryRecords) {
  EXPECT_EQ(refused({{{"a", "x", 0, 0, "b"}}}),
            "the entry at byte 0 is not 'a', as the directory says");
  SmallZip more{{{"a", "x"}}};
  more.more_entries = 2;
  EXPECT_EQ(refused(more), "its directory is said to have 3 entries and has 1");
  SmallZip moved{{{"a", "x"}}};
  moved.directory_moved = 1;
  EXPECT_THAT(refused(moved), HasSubstr("its directory is said to lie at byte 33 with 47 bytes"));
  moved.with_64 = true;
  moved.directory_moved = ~0ULL - 40;
  EXPECT_THAT(refused(moved),
              HasSubstr("its directory is said to lie at byte 18446744073709551607"));
}

TEST(ZipReader, RefusesTruncatedOrChangedFiles) {
  const SmallZip zip{{{"name", "content"}}};
  const std::string whole = zip.bytes();
  EXPECT_EQ(refused_bytes("PK\3\4"), "it has only 4 bytes");
  EXPECT_EQ(refused_bytes(whole.substr(0, whole.size() - 1)),
            "it has no directory at its end: it is cut off, or not a zip file");
  const auto changed = [&](std::size_t at, const std::string& bytes) {
    std::string text = whole;
    return refused_bytes(text.replace(at, bytes.size(), bytes));
  };
  const std::size_t directory = whole.find("PK\1\2");
  EXPECT_EQ(changed(0, "PK\3\5"), "no entry 'name' at byte 0");
  EXPECT_EQ(changed(directory, "PK\1\1"), "its directory is broken at its byte 0");
  EXPECT_EQ(changed(directory + 28, test::number(500, 2)), "its directory is broken at its byte 0");
  EXPECT_THAT(changed(directory + 42, test::number(100000, 4)),
              HasSubstr("'name' is said to lie at byte 100000 with 7 bytes"));
  EXPECT_THAT(changed(directory + 20, test::number(0x7fffffff7fffffff, 8)),
              HasSubstr("'name' is said to lie at byte 0 with 2147483647 bytes"));
  EXPECT_THAT(changed(directory + 20, test::number(~0ULL, 8)),
              HasSubstr("'name' is said to lie at byte 0 with 4294967295 bytes"));
  EXPECT_THAT(changed(26, test::number(60000, 2)), HasSubstr("the entries end at byte 41"));
}

TEST(ZipReader, RefusesBroken64BitRecords) {
  SmallZip zip{{{"name", "content", 0, 0, "", true}}};
  zip.with_64 = true;
  const std::string whole = zip.bytes();
  const auto changed = [&](std::size_t at, const std::string& bytes) {
    std::string text = whole;
    return refused_bytes(text.replace(at, bytes.size(), bytes));
  };
  const std::size_t end = whole.find("PK\6\6");
  const std::size_t locator = whole.find("PK\6\7");
  EXPECT_EQ(changed(locator + 8, test::number(~0ULL, 8)),
            "its 64-bit directory record is said to lie at byte 18446744073709551615");
  EXPECT_EQ(changed(locator + 8, test::number(0, 8)), "no 64-bit directory record at byte 0");
  EXPECT_EQ(changed(end + 16, test::number(1, 4)), "it is spread over several disks");
  EXPECT_EQ(changed(end + 20, test::number(1, 4)), "it is spread over several disks");
  EXPECT_THAT(changed(end + 40, test::number(1ULL << 40, 8)),
              HasSubstr("its directory is said to have 1099511627776 bytes"));
  const std::size_t extra = whole.find("PK\1\2") + 46 + 4;
  EXPECT_EQ(changed(extra + 2, test::number(8, 2)), "'name' lacks a 64-bit number");
}

}  // namespace
}  // namespace bp::trainer
