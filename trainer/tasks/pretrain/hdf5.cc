#include "trainer/tasks/pretrain/hdf5.h"

namespace bp::trainer {

void silence_hdf5() { (void)H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string hdf5_reason() {
  std::string reason;
  // The last of them is the innermost one.
  const auto keep = [](unsigned /*number*/, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &reason);
  return reason.empty() ? "the HDF5 library gives no reason" : reason;
}

}  // namespace bp::trainer
