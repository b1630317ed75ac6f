#include "trainer/commands/shards_options.h"

#include <memory>
#include <utility>

#include "base/input_error.h"
#include "base/options/option_set.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"

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
  set.path({"vocab", "A vocab.txt of WordPiece tokens", "", "FILE"}, o.vocabulary);
  set.number({"max-length", "Most tokens of an instance, with [CLS] and [SEP]"},
             o.instances.max_length, 5, 4096);
  set.number({"short-share", "Share of instances of a random smaller length"},
             o.instances.short_share, 0, 1);
  set.number({"copies", "Instances of each document, with other cuts and masks"},
             o.instances.copies, 1, 1000);
  set.number({"mask-share", "Share of the tokens that are masked"}, o.masks.share, 0.01, 0.99);
  set.number({"most-masked", "Most masked tokens of an instance", "20; 80 above 128 tokens"},
             o.masks.most, 1, 4096);
  set.flag({"whole-words", "Mask all pieces of a word, or none"}, o.masks.whole_words);
  set.number({"seed", "Seed of cuts, pairs, masks and order"}, o.instances.seed, 0, 9e18);
}

}  // namespace

int default_masked(int max_length) {
  constexpr int kShort = 128;
  return max_length <= kShort ? 20 : 80;
}

CommandLine parse_shards(const std::vector<std::string>& arguments) {
  auto o = std::make_shared<ShardsOptions>();
  OptionSet set("bert_train shards", kAbout, "");
  set.positional_paths({"TEXT", "Files of plain text, perhaps compressed"}, o->source.files);
  add_instance_options(set, *o);
  set.flag({"cased", "Keep case and accents, as a cased vocabulary needs it"}, o->lower_case,
           false);
  set.group("Output");
  set.path({"out", "The folder to make", "", "FOLDER"}, o->out);
  set.text({"name", "Name of the shards: NAME_0000.hdf5, ...", "", "NAME"}, o->name);
  set.number({"rows", "Instances in one shard"}, o->rows, 1, 1e9);
  Options options;
  options.action = Action::shards;
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  set.require("out");
  set.require("vocab");
  if (o->name.empty() || o->name.find('/') != std::string::npos) {
    throw InputError(2, concat("--name: '", o->name, "' is no name of a file"),
                     "--out names the folder");
  }
  if (o->masks.most == 0) o->masks.most = default_masked(o->instances.max_length);
  o->instances.masks = o->masks;
  options.settings = set.settings();
  options.arguments = arguments;
  options.shards = std::move(o);
  return {std::move(options), ""};
}

}  // namespace bp::trainer
