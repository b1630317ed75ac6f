#include "base/keys/secret_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "bp/error.h"
#include "tests/support/scratch.h"

namespace bp {
namespace {

class SecretFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_.write("key", text);
    ::chmod(path.c_str(), mode);
    return path;
  }
  static std::string refusal(const std::string& path) {
    try {
      (void)read_secret_file(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "no error";
  }
  const Scratch folder_;
};

TEST_F(SecretFileTest, IsReadByteForByte) {
  const std::string secret("0123456789\0abcdef\n", 18);
  EXPECT_EQ(read_secret_file(file(secret)), secret);
  EXPECT_EQ(read_secret_file(file(secret, 0400)), secret);
}

// docs/acceptance.md, Other engines: A machine with another key is refused, and a key file that
// others can read too.
TEST_F(SecretFileTest, IsRefusedIfOthersCanReadIt) {
  for (const mode_t mode : {0640, 0604, 0660, 0644}) {
    const std::string path = file("0123456789abcdef", mode);
    EXPECT_EQ(refusal(path), "the file can be read by others; chmod 600 " + path);
  }
}

TEST_F(SecretFileTest, RefusesInvalidFiles) {
  EXPECT_EQ(refusal(file("short")), "the file holds 5 bytes; a secret needs at least 16");
  EXPECT_EQ(refusal(folder_.path("no")), "the file cannot be read: No such file or directory");
  EXPECT_EQ(refusal(folder_.path()), "the file cannot be read: it is a folder, not a regular file");
  EXPECT_THAT(refusal(file(std::string((1U << 20U) + 1, 'x'))),
              testing::HasSubstr("no end within"));
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);  // to which nobody writes
  EXPECT_EQ(refusal(pipe), "the file cannot be read: it is a pipe, not a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "the file cannot be read: it is a device, not a regular file");
}

}  // namespace
}  // namespace bp
