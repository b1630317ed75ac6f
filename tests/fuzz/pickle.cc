// The pickle of a pytorch_model.bin, without the zip around it.
#include "trainer/model/files/pickle.h"

#include "fuzz.h"

FUZZ_TARGET(pickle) {
  bp::test::read_anything(
      [&] { (void)bp::trainer::parse_state_dict(bp::test::text_of(data, size)); });
  return 0;
}
