// The file of a lease that another process holds.
#include "trainer/prepare/lease.h"

#include "fuzz.h"
#include "input_file.h"

FUZZ_TARGET(lease) {
  using namespace bp::trainer;
  static const bp::test::InputFile file(".lease");
  const std::string& path = file.write(bp::test::text_of(data, size));
  bp::test::read_anything([&] {
    Lease lease(path);
    if (lease.try_take()) __builtin_trap();  // the file of another holder exists
    (void)lease.holder();
    (void)lease.holder_is_alive();
    (void)lease.lost();
  });
  return 0;
}
