// The real NCCL of this machine, if it has one, and what is said where there is none.
#include "comm/device/nccl_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>

#include "bp/error.h"
#include "tests/support/scratch.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#define BP_HAS_NCCL_HEADER 1
#endif

namespace bp {
namespace {

#ifdef BP_HAS_NCCL_HEADER
static_assert(sizeof(NcclApi::UniqueId) == sizeof(ncclUniqueId));
static_assert(NcclApi::kSuccess == ncclSuccess);
static_assert(NcclApi::kRemoteError == ncclRemoteError);
static_assert(NcclApi::kInProgress == ncclInProgress);
static_assert(int{NcclApi::i8} == int{ncclInt8} && int{NcclApi::u8} == int{ncclUint8});
static_assert(int{NcclApi::i32} == int{ncclInt32} && int{NcclApi::i64} == int{ncclInt64});
static_assert(int{NcclApi::f16} == int{ncclFloat16} && int{NcclApi::bf16} == int{ncclBfloat16});
static_assert(int{NcclApi::f32} == int{ncclFloat32} && int{NcclApi::f64} == int{ncclFloat64});
static_assert(int{NcclApi::sum} == int{ncclSum} && int{NcclApi::product} == int{ncclProd});
static_assert(int{NcclApi::max} == int{ncclMax} && int{NcclApi::min} == int{ncclMin});
static_assert(int{NcclApi::average} == int{ncclAvg});
static_assert(NcclApi::kScalarOnHost == ncclScalarHostImmediate);
static_assert(NcclApi::kUnset == NCCL_CONFIG_UNDEF_INT);
static_assert(offsetof(NcclApi::Config, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclApi::Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclApi::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclApi::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclApi::Config, network) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclApi::Config, split_share) == offsetof(ncclConfig_t, splitShare));
static_assert(sizeof(NcclApi::Config) == offsetof(NcclApi::Config, later) + sizeof(int));

TEST(NcclApi, BeginsItsConfigurationAsTheHeaderDoes) {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(NcclApi::Config().magic, theirs.magic);
  EXPECT_EQ(NcclApi::Config().blocking, theirs.blocking);
}
#endif

// docs/acceptance.md, Devices: The real NCCL library tells its version and its errors.
TEST(NcclApi, TheRealLibraryTellsItsVersionAndItsErrors) {
  try {
    static_cast<void>(nccl_api());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_EQ(find_nccl_problem(), error.what());
    GTEST_SKIP() << "this machine has no NCCL: " << error.what();
  }
  EXPECT_GE(nccl_api().number, NcclApi::kOldestVersion);
  EXPECT_STREQ(nccl_api().text_of_error(NcclApi::kSuccess), "no error");
  EXPECT_EQ(nccl_api().allocate != nullptr, nccl_api().number >= 21901);
}

TEST(NcclApi, AVersionIsThreeNumbers) {
  EXPECT_EQ(nccl_version_text(21903), "2.19.3");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
}

// In processes of their own, since the library is opened once.
int tell_problem(const char* library) {
  ::setenv("BP_NCCL", library, 1);
  std::cerr << find_nccl_problem() << "\n";
  return 0;
}

TEST(NcclApiDeathTest, ALibraryThatIsNotThereIsNamed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(std::_Exit(tell_problem("/nowhere/libnccl.so.2")), testing::ExitedWithCode(0),
              "^BP_NCCL names no library that loads: /nowhere/libnccl.so.2: cannot open");
  const Scratch folder;
  const std::string pipe = folder.path("libnccl.so.2");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);  // to which nobody writes
  EXPECT_EXIT(std::_Exit(tell_problem(pipe.c_str())), testing::ExitedWithCode(0),
              "^BP_NCCL names no library that loads: .*/libnccl.so.2: it is a pipe, not a regular "
              "file\n$");
}

// docs/acceptance.md, Devices: A library that is not NCCL is named.
TEST(NcclApiDeathTest, ALibraryThatIsNotNcclIsNamed) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(std::_Exit(tell_problem("libc.so.6")), testing::ExitedWithCode(0),
              "^libc.so.6 has no ncclGetVersion; install NCCL 2.19 or newer, or name its "
              "libnccl.so.2 in BP_NCCL; or use the backend auto");
}

}  // namespace
}  // namespace bp
