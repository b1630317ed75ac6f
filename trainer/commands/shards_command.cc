#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/text.h"
#include "base/usable_cores.h"
#include "bp/error.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/results.h"
#include "trainer/commands/shards_options.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/make_vocabulary.h"
#include "trainer/data/numbers.h"
#include "trainer/data/whole_file.h"
#include "trainer/tasks/pretrain/make_shards.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOtherFolder = "name another folder with --out";

// The folder of the shards while they are made, beside the one that they will be in. Its destructor
// removes it with all files unless publish() has succeeded.
class PartFolder {
 public:
  explicit PartFolder(const std::string& folder) : folder_(folder), path_(folder + ".part-XXXXXX") {
    if (path_exists(folder_)) throw InputError(2, concat(folder_, " exists"), kOtherFolder);
    if (::mkdtemp(path_.data()) == nullptr) {
      throw InputError(70, concat("cannot make the folder ", path_, ": ", error_text(errno)),
                       kOtherFolder);
    }
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  ~PartFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

  // Moves the folder to its name.
  void publish() {
    const mode_t forbidden = ::umask(0);
    ::umask(forbidden);
    constexpr mode_t kAll = 0777;
    (void)::chmod(path_.c_str(), kAll & ~forbidden);  // mkdtemp() made it for this user only
    if (std::rename(path_.c_str(), folder_.c_str()) != 0) {
      throw InputError(70,
                       concat("cannot rename ", path_, " to ", folder_, ": ", error_text(errno)),
                       kOtherFolder);
    }
    path_.clear();
    sync_folder_of(folder_);
  }

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace

int run_shards(Communicator& world, const Options& options) {
  if (world.rank() != 0) return 0;
  const ShardsOptions& asked = *options.shards;
  const Vocabulary vocabulary = read_vocabulary(asked.vocabulary);
  const std::string folder = without_slashes(asked.out);
  PartFolder part(folder);
  MadeShards made;
  try {
    made = make_shards(asked.source, vocabulary, asked.lower_case, asked.instances,
                       static_cast<std::size_t>(usable_cores().concurrent()),
                       {.prefix = concat(part.path(), "/", asked.name),
                        .rows = asked.rows,
                        .temporary_folder = part.path()});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    throw InputError(70, error.what(), concat("free some space, or ", kOtherFolder));
  }
  const InstanceCounts& counts = made.counts;
  if (counts.instances == 0) {
    throw InputError(65, concat("no document in ", asked.source.files.front(), " makes a pair"),
                     "a document needs two sentences, each on a line of its own, or --line "
                     "paragraph");
  }
  part.publish();
  print_line(concat(folder, ": ", with_commas(counts.instances), " instances in ",
                    made.files.size(), made.files.size() == 1 ? " shard" : " shards", ", of ",
                    with_commas(counts.documents), " documents with ",
                    with_commas(counts.sentences), " sentences and ", with_commas(counts.tokens),
                    " tokens"));
  return 0;
}

}  // namespace bp::trainer
