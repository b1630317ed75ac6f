#include "trainer/share/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer {

TemporaryFolder::TemporaryFolder() {
  const char* const place = std::getenv("TMPDIR");
  path_ = concat(place == nullptr || *place == '\0' ? "/tmp" : place, "/bert_train-XXXXXX");
  if (::mkdtemp(path_.data()) == nullptr) {
    throw InputError(70, concat("cannot make the folder ", path_, ": ", error_text(errno)),
                     "set TMPDIR to a folder that you may write to");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace bp::trainer
