// Launchers whose contract bp knows of but cannot join yet. A rank that took itself for a job of
// its own under one of them would train alone, beside its siblings and into the same files.
#pragma once

namespace bp {

// Throws `unavailable` when such a launcher started more than one process.
void refuse_foreign_launchers();

}  // namespace bp
