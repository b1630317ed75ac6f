#include "comm/topology/foreign.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp {
namespace {

struct Foreign {
  const char* name;
  const char* size_variable;  // how many processes it started
};

constexpr std::array kForeign = {
    Foreign{"Open MPI", "OMPI_COMM_WORLD_SIZE"},
    Foreign{"an MPI launcher with PMI", "PMI_SIZE"},
    Foreign{"srun", "SLURM_STEP_NUM_TASKS"},
    Foreign{"torchrun or a launcher like it", "WORLD_SIZE"},
};

}  // namespace

void refuse_foreign_launchers() {
  for (const Foreign& foreign : kForeign) {
    const char* size = std::getenv(foreign.size_variable);
    if (size != nullptr && std::string_view(size) != "1") {
      throw Error(ErrorCode::unavailable,
                  concat(foreign.size_variable, "=", size, ": this process was started by ",
                         foreign.name, ", whose jobs bp cannot join yet; start it with bprun"));
    }
  }
}

}  // namespace bp
