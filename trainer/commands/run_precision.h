// Chooses the precision of a run with --precision auto.
#pragma once

#include <string>
#include <vector>

#include "bp/communicator.h"
#include "trainer/common/say.h"
#include "trainer/model/passes/precision.h"
#include "trainer/options/options.h"
#include "trainer/run/run_folder.h"

namespace bp::trainer {

// Returns the precision of the checkpoint from which a run in `folder` will resume, as --precision
// calls it. Returns "" if there is no such checkpoint, or if choose_resume_point() refuses it.
[[nodiscard]] std::string saved_precision(const RunFolder& folder, const std::string& resume);

// Returns what a rank tells the others. `saved`: the precision of the checkpoint; "": the rank
// knows of none.
[[nodiscard]] std::string precision_wish(const std::string& saved, bool has_bf16_instructions);

// Returns the precision of the run from what the ranks have told, in their order: that of the
// checkpoint which rank 0 knows, else the fastest_precision() of all processors together.
[[nodiscard]] Precision chosen_precision(const std::vector<std::string>& wishes);

// Returns whether this device, or the processor, has instructions for products of bf16.
[[nodiscard]] bool has_bf16(const RankDevice& rank_device);

// Collective. Returns the precision that --precision auto means, the same on all ranks. `saved`
// counts on rank 0 only. `has_bf16`: of this rank's device.
[[nodiscard]] Precision agree_on_precision(Communicator& world,
                                           const std::string& saved,
                                           bool has_bf16);

// Collective. Returns the precision of an evaluation, which no checkpoint decides.
[[nodiscard]] Precision precision_of_evaluation(Communicator& world,
                                                Precision asked,
                                                const RankDevice& rank_device);

// Collective. Replaces --precision auto, in settings.settings and so in config.yaml, too: a run
// that resumes on another machine computes as before. `folder`: the run's, on rank 0; null on the
// others. `say` gets a line about what auto chose, and about bf16.
void choose_precision(Communicator& world,
                      RunSettings& settings,
                      const RunFolder* folder,
                      const Say& say);

}  // namespace bp::trainer
