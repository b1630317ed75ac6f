#include "launcher/agent/join_key.h"

#include <cstdlib>

#include "base/keys/hmac.h"
#include "base/keys/secret_file.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

JobKey read_join_key() {
  const char* path = std::getenv("BP_JOB_KEY_FILE");
  if (path == nullptr || *path == '\0') {
    throw Error(ErrorCode::invalid_argument,
                "--serve and --join need a secret that all machines have: set BP_JOB_KEY_FILE to a "
                "file of it (head -c 32 /dev/urandom >FILE; chmod 600 FILE)");
  }
  try {
    return Hmac(Bytes32{})({"bprun join key 1 ", read_secret_file(path)});
  } catch (const Error& error) {
    throw Error(error.code(), concat("BP_JOB_KEY_FILE=", path, ": ", error.what()));
  }
}

JobKey key_of_job(const JobKey& join_key, const std::string& job) {
  return Hmac(join_key)({"bprun job key 1 ", job});
}

}  // namespace bp::launcher
