#include "trainer/commands/bprun_program.h"

#include <system_error>

namespace bp::trainer {

std::string bprun_program(const std::filesystem::path& self) {
  std::error_code ignored;
  const std::filesystem::path beside = self.parent_path() / "bprun";
  return std::filesystem::exists(beside, ignored) ? beside.string() : "bprun";
}

}  // namespace bp::trainer
