// A job that travels to an agent over a stream that others can read: srun's, which Slurm forwards
// as plain text. Each end makes a key pair, and the job travels under the key that both agree on.
// Where munge runs, it vouches for both public keys, so that no other user can sit in between.
#pragma once

#include <string>

#include "base/keys/key_exchange.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

// The agent's end.
class JobReceiver {
 public:
  JobReceiver();
  // Puts its public key, and munge's credential for that, into the hello.
  void introduce(Hello& hello) const;
  // Decrypts the job. Throws io, with a text that begins with "the job", if it was altered, if it
  // is another agent's, or if munge runs here and does not vouch for it.
  [[nodiscard]] JobSpec open(const SealedJob& sealed) const;

 private:
  KeyExchange exchange_;
  std::string credential_;
};

// Encrypts the job for the agent that said this hello. Throws io if that names no key, or if munge
// runs here and does not vouch for it.
[[nodiscard]] SealedJob seal_job(const JobSpec& spec, const Hello& hello);

}  // namespace bp::launcher
