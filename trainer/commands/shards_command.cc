#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/input_error.h"
#include "base/options/option_set.h"
#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/answer.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/common/whole_file.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/tasks/pretrain/make_shards.h"

namespace bp::trainer {
namespace {

constexpr const char* kAbout =
    "Makes shards to pre-train on from files of plain text, in which a blank line\n"
    "ends a document: HDF5 files as NVIDIA's create_pretraining_data.py writes them,\n"
    "with pairs of segments, whether the second follows the first, and masked\n"
    "tokens. Uses all cores and little memory. FOLDER appears when all are complete.";

void add_instance_options(OptionSet& set, ShardsOptions& o) {
  set.group("Instances");
  set.choice<TextForm>({"line", "What a line of the files holds"}, o.source.form,
                       {{"sentence", TextForm::sentences}, {"paragraph", TextForm::running}});
  set.path(
      {"vocab", "A vocab.txt, a tokenizer.json, or a vocab.json beside merges.txt", "", "FILE"},
      o.vocabulary);
  set.number({"max-length", "Most tokens of an instance, with [CLS] and [SEP]"},
             o.instances.max_length, 5, 4096);
  set.number({"short-share", "Share of instances of a random smaller length"},
             o.instances.short_share, 0, 1);
  set.number({"copies", "Instances of each document, with other cuts and masks"},
             o.instances.copies, 1, 1000);
  set.number({"mask-share", "Share of the tokens that are masked"}, o.instances.masks->share, 0.01,
             0.99);
  set.number({"most-masked", "Most masked tokens of an instance", "20; 80 above 128 tokens"},
             o.instances.masks->most, 1, 4096);
  set.flag({"whole-words", "Mask all pieces of a word, or none"}, o.instances.masks->whole_words);
  set.number({"seed", "Seed of cuts, pairs, masks and order"}, o.instances.seed, 0, 9e18);
}

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

CommandLine parse_shards(const std::vector<std::string>& arguments, const Extensions& /*none*/) {
  ShardsOptions o;
  OptionSet set("bert_train shards", kAbout);
  set.positional_paths({"TEXT", "Files of plain text, perhaps compressed"}, o.source.files);
  add_instance_options(set, o);
  set.flag({"cased", "Keep case and accents, as a cased vocabulary needs it"}, o.lower_case, false);
  set.group("Output");
  set.path({"out", "The folder to make", "", "FOLDER"}, o.out);
  set.text({"name", "Name of the shards: NAME_0000.hdf5, ...", "", "NAME"}, o.name);
  set.number({"rows", "Instances in one shard"}, o.rows, 1, 1e9);
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  set.require("out");
  set.require("vocab");
  if (o.name.empty() || o.name.find('/') != std::string::npos) {
    throw InputError(2, concat("--name: '", o.name, "' is not a name of a file"),
                     "--out names the folder");
  }
  // As in NVIDIA's recipe.
  if (o.instances.masks->most == 0)
    o.instances.masks->most = o.instances.max_length <= 128 ? 20 : 80;
  return {std::move(o), ""};
}

int run_command(Communicator& world, const ShardsOptions& asked) {
  if (world.rank() != 0) return 0;
  const Vocabulary vocabulary = read_vocabulary(asked.vocabulary, asked.lower_case);
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
