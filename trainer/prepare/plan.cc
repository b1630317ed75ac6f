#include "trainer/prepare/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/input_error.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "trainer/common/hash.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/input/encoding.h"
#include "trainer/input/open_input.h"
#include "trainer/prepare/data_files.h"
#include "trainer/store/immutable_database.h"
#include "trainer/store/store_tables.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

[[noreturn]] void refuse_plan(const std::string& text, const std::string& hint) {
  throw InputError(2, text, hint);
}

void check_stratify(const PrepareOptions& options) {
  if (!options.task->has_strata()) {
    refuse_plan(
        concat("--stratify needs a task with classes, and ", options.task->name(), " has none"),
        "leave out --stratify");
  }
  if (!options.dev_source.empty() || !options.test_source.empty()) {
    refuse_plan("--stratify divides the rows of one file, but --dev or --test names one",
                "leave out --stratify");
  }
}

// Whether one source is divided, and not scored or trained on whole.
bool divides(const PrepareOptions& options) {
  return !options.scored && options.dev_source.empty() && options.test_source.empty();
}

void check_options(const PrepareOptions& options) {
  if (options.max_length < 3) {
    refuse_plan(concat("max length ", options.max_length, " leaves no room for a token"),
                "[CLS] and [SEP] take two positions: the minimum is 3, the default 128");
  }
  constexpr int kSmallestVocabulary = 6;
  if (options.vocabulary.empty() && options.vocabulary_size < kSmallestVocabulary) {
    refuse_plan(concat("a vocabulary of ", options.vocabulary_size, " tokens is too small"),
                "8000 is the default");
  }
  if (options.scored && options.vocabulary.empty()) {
    refuse_plan(concat("the vocabulary of the model is needed to score ", options.source),
                "name the vocab.txt that the model was trained with: --vocab");
  }
  require_split(options.split);
  if (options.stratify) check_stratify(options);
  if (options.divider == Divider::data && !divides(options)) {
    refuse_plan(
        "--split data divides the rows of one file as it says, but --dev or --test names one",
        "leave out --split data");
  }
  if (options.divider == Divider::data && options.stratify) {
    refuse_plan("--stratify divides by share, and --split data as the file says",
                "leave out one of them");
  }
}

constexpr const char* kStoreSuffix = ".sqlite";
constexpr const char* kSplitKey = "split";  // of a fingerprint, as the next two
constexpr const char* kSeedKey = "seed";
constexpr const char* kStrataKey = "split of classes";
constexpr const char* kSplitOfFile = "as the data file says";

std::string default_store(const std::string& file) {
  const std::string source = without_slashes(unpacked_name(file));
  const std::size_t slash = source.find_last_of('/');
  const std::size_t dot = source.find_last_of('.');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  const bool has_suffix = dot != std::string::npos && dot > name;
  const std::string stem = source.substr(0, has_suffix ? dot : source.size());
  return concat(stem, is_store_name(source) ? ".store" : "", kStoreSuffix);
}

DataFile look_at(const PrepareOptions& options,
                 const std::string& path,
                 Split split,
                 HeaderMode header) {
  std::optional<TableLayout> layout;
  if (!options.task->has_own_format(path)) {
    layout = inspect_table({path, options.format, header, options.task->fields(), options.separator,
                            options.encoding,
                            split == Split::test ? Answers::in_some_rows : Answers::needed});
  }
  return {path, layout, stamp_of(path)};
}

HeaderMode header_of_others(const PrepareOptions& options,
                            const std::optional<TableLayout>& layout) {
  if (!layout || layout->format.text == TextFormat::jsonl) return options.header;
  return layout->header ? HeaderMode::yes : HeaderMode::no;
}

// All files have the same columns and header as the first, so one setting serves all.
SourceFiles make_source(const PrepareOptions& options,
                        const std::vector<std::string>& paths,
                        Split split,
                        HeaderMode header) {
  SourceFiles source{.name = paths.front(), .split = split, .files = {}};
  for (const std::string& path : paths) {
    source.files.push_back(look_at(options, path, split, header));
    header = header_of_others(options, source.layout());
  }
  const auto more = paths.size() - 1;
  if (more > 0) source.name += concat(" and ", more, more == 1 ? " more file" : " more files");
  return source;
}

std::string content_of(const std::string& path) {
  const FileHash hash = hash_file(path);
  return concat(with_commas(hash.size), " bytes, XXH3 ", hash.hex);
}

std::string source_key(Split split) { return concat(name_of(split), " source"); }

std::string content_of_vocabulary(const std::string& path) {
  const std::string merges = merges_beside(path);
  return merges.empty() ? content_of(path)
                        : concat(content_of(path), "; merges of ", content_of(merges));
}

std::string source_key(const SourceFiles& source, std::size_t file) {
  return concat(source_key(source.split), file == 0 ? "" : concat(", file ", file + 1));
}

const char* name_of(LongText long_text) {
  constexpr const char* kNames[] = {"fold", "fold at sentence ends", "truncate"};
  return kNames[static_cast<std::size_t>(long_text)];
}

std::string with_encoding(const std::string& format, const std::string& encoding) {
  const bool is_utf8 = encoding == kFindEncoding || encoding == "utf-8";
  return is_utf8 ? format : concat(format, ", encoding ", encoding);
}

std::string describe(const DataFile& source, const PrepareOptions& options) {
  if (!source.layout) return with_encoding("the task's", options.encoding);
  const TableLayout& layout = *source.layout;
  const std::vector<Field> fields = options.task->fields();
  const char* const header = layout.format.text == TextFormat::jsonl ? ""
                             : layout.header                         ? " with a header"
                                                                     : " without header";
  std::string text = concat(layout.format.name(), header);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += concat(", ", fields[i].name, " in ", layout.name_of(i));
  }
  return with_encoding(text, layout.encoding);
}

Fingerprint make_fingerprint(const Plan& plan) {
  const PrepareOptions& options = plan.options;
  Fingerprint print = {{"task", options.task->name()}};
  for (const SourceFiles& source : plan.sources) {
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      const std::string name = source_key(source, i);
      print.emplace_back(name, content_of(source.files[i].path));
      print.emplace_back(concat("format of the ", name), describe(source.files[i], options));
    }
  }
  print.emplace_back("vocabulary",
                     options.vocabulary.empty()
                         ? concat("trained, at most ", options.vocabulary_size, " tokens")
                         : content_of_vocabulary(options.vocabulary));
  print.emplace_back("case", options.lower_case ? "lower" : "kept");
  print.emplace_back("max length", concat(options.max_length));
  print.emplace_back("long text", name_of(options.long_text));
  const Fingerprint own = options.task->fingerprint();
  print.insert(print.end(), own.begin(), own.end());
  if (options.limit > 0) {
    print.emplace_back("rows of each file", concat("the first ", options.limit));
  }
  if (options.dedupe) {
    print.emplace_back("repeated texts", "kept once");
  }
  if (!plan.file_split.of_rows.empty()) {
    print.emplace_back(kSplitKey, kSplitOfFile);
  } else if (plan.divided) {
    print.emplace_back(kSplitKey,
                       concat(options.split[0], ",", options.split[1], ",", options.split[2]));
    print.emplace_back(kSeedKey, concat(options.seed));
    if (options.stratify) print.emplace_back(kStrataKey, "by share");
  }
  return print;
}

bool is_given(const Fingerprint& print, const std::string& key) {
  return std::ranges::count(print, key, &Fingerprint::value_type::first) > 0;
}

std::string value_in(const Fingerprint& print, const std::string& key) {
  const auto found = std::ranges::find(print, key, &Fingerprint::value_type::first);
  return found == print.end() ? std::string("not given") : found->second;
}

// Returns the splits for which only one of the two preparations of a training has a file.
std::vector<Split> files_of_one(const Fingerprint& a, const Fingerprint& b) {
  std::vector<Split> splits;
  const std::string trained = source_key(Split::train);
  if (!is_given(a, trained) || !is_given(b, trained)) return splits;
  for (const Split split : {Split::dev, Split::test}) {
    if (is_given(a, source_key(split)) != is_given(b, source_key(split))) splits.push_back(split);
  }
  return splits;
}

// Whether this key differs because one of the preparations lacks the file of a split.
bool follows(const std::string& key, const std::vector<Split>& lacking) {
  const bool divides = key == kSplitKey || key == kSeedKey || key == kStrataKey;
  return std::ranges::any_of(lacking, [&](Split split) {
    return divides || key.find(source_key(split)) != std::string::npos;
  });
}

void require_other_place(const Plan& plan) {
  for (const SourceFiles& source : plan.sources) {
    for (const DataFile& file : source.files) {
      std::error_code ignored;
      if (file.path != plan.store && !std::filesystem::equivalent(file.path, plan.store, ignored)) {
        continue;
      }
      refuse_plan(concat("the store ", plan.store, " would replace its source"),
                  plan.options.store.empty()
                      ? "name it with --store"
                      : concat("--store names the file that bert_train makes of the data: leave it "
                               "out, or name another file, such as ",
                               quote_shell_word(default_store(file.path))));
    }
  }
}

// Returns how the only source divides its rows, unless shares are to divide them.
FileSplit own_split(const Plan& plan) {
  const PrepareOptions& options = plan.options;
  const SourceFiles& source = plan.sources.front();
  const bool by_shares = options.divider == Divider::shares || options.stratify;
  if (by_shares) return {};
  FileSplit split;
  if (source.files.size() == 1 && !source.layout()) {
    split = options.task->split_in(source.files.front().path);
  }
  if (options.divider == Divider::data && split.of_rows.empty()) {
    refuse_plan(split.remark.empty() ? concat(source.name, " does not say how its rows are divided")
                                     : split.remark,
                "give the shares: --split 0.8,0.1,0.1");
  }
  return split;
}

// The folders . and .. have no name that a store could have.
void require_name(const Plan& plan) {
  if (std::filesystem::path(plan.store).filename() != concat(".", kStoreSuffix)) return;
  refuse_plan(concat("the folder ", plan.options.source, " gives the store no name"),
              "name it with --store");
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return {};
  }
  return {status.st_size, status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

void require_split(const std::array<double, 3>& split) {
  const bool in_range =
      std::all_of(split.begin(), split.end(), [](double s) { return s >= 0 && s <= 1; });
  if (!in_range || split[0] <= 0 || std::abs(split[0] + split[1] + split[2] - 1) > 1e-6) {
    refuse_plan(concat("split ", split[0], ",", split[1], ",", split[2],
                       " does not divide into train, dev and test"),
                "three shares that sum to 1, the first above 0: 0.8,0.1,0.1");
  }
}

bool is_store_name(const std::string& data) { return data.ends_with(kStoreSuffix); }

bool is_store(const std::string& data) {
  return is_store_name(data) &&
         application_of(data).value_or(kStoreApplication) == kStoreApplication;
}

std::string reading_text(const Plan& plan) {
  const SourceFiles& source = plan.sources.front();
  const std::optional<TableLayout>& layout = source.layout();
  if (!layout || layout->format.has_usual_separator()) return "reading " + source.name;
  return concat("reading ", source.name, ", with a ", separator_name(layout->format.separator),
                " between its fields");
}

std::string another_place(const Plan& plan) {
  namespace fs = std::filesystem;
  const auto free_name = [](const std::string& path, const std::string& suffix) {
    const bool has_suffix = path.ends_with(suffix);
    const std::string stem = path.substr(0, path.size() - (has_suffix ? suffix.size() : 0));
    std::error_code ignored;
    for (int number = 2;; ++number) {
      std::string name = concat(stem, "-", number, has_suffix ? suffix : "");
      if (!fs::exists(name, ignored)) return name;
    }
  };
  const std::string& store = plan.options.store;
  const std::string& run = plan.options.run;
  return concat(store.empty() ? "" : "--store " + quote_shell_word(free_name(store, kStoreSuffix)),
                store.empty() || run.empty() ? "" : " ",
                run.empty() ? "" : "--run " + quote_shell_word(free_name(run, "")));
}

std::string store_path(const PrepareOptions& options) {
  return options.store.empty() ? default_store(options.source) : options.store;
}

Plan make_plan(const PrepareOptions& options) {
  BP_CHECK(options.task != nullptr, "a preparation needs a task");
  check_options(options);
  Plan plan;
  plan.options = options;
  plan.store = store_path(options);
  const bool scored = options.scored;
  plan.divided = divides(options);
  plan.sources.push_back(make_source(options,
                                     data_files(options.source, options.more_sources, options),
                                     scored ? Split::test : Split::train, options.header));
  const HeaderMode header = header_of_others(options, plan.sources[0].layout());
  const auto add = [&](const std::string& path, Split split) {
    if (path.empty()) return;
    plan.sources.push_back(make_source(options, data_files(path, options), split, header));
  };
  add(options.dev_source, Split::dev);
  add(options.test_source, Split::test);
  if (plan.divided) plan.file_split = own_split(plan);
  require_other_place(plan);
  require_name(plan);
  plan.fingerprint = make_fingerprint(plan);
  return plan;
}

bool is_divided_by_data(const Fingerprint& stored) {
  return value_in(stored, kSplitKey) == kSplitOfFile;
}

std::string difference(const Fingerprint& stored, const Fingerprint& wanted) {
  std::string text;
  const auto add = [&](const std::string& one) { text += concat(text.empty() ? "" : "; ", one); };
  const std::vector<Split> moved = files_of_one(stored, wanted);
  for (const Split split : moved) {
    const bool there = is_given(stored, source_key(split));
    add(concat("--", name_of(split), " is given ", there ? "there, not here" : "here, not there"));
  }
  const auto compare = [&](const std::string& key) {
    const std::string a = value_in(stored, key);
    const std::string b = value_in(wanted, key);
    if (a != b && !follows(key, moved)) add(concat(key, " is ", a, " there, ", b, " here"));
  };
  for (const auto& entry : wanted) compare(entry.first);
  for (const auto& entry : stored) {
    if (!is_given(wanted, entry.first)) compare(entry.first);
  }
  return text;
}

bool is_source_key(const Plan& plan, const std::string& key) {
  return std::ranges::any_of(plan.sources, [&](const SourceFiles& source) {
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      if (source_key(source, i) == key) return true;
    }
    return false;
  });
}

std::string changed_source(const Fingerprint& stored, const Plan& plan) {
  Fingerprint as_now = stored;
  std::string text;
  const auto compare = [&](const std::string& key, const std::string& path) {
    const std::string now = value_in(plan.fingerprint, key);
    for (auto& [what, value] : as_now) {
      if (what == key && value != now) {
        text += concat(text.empty() ? "" : "; ", "the data file ", path, " has changed (", value,
                       " then, ", now, " now)");
        value = now;
      }
    }
  };
  for (const SourceFiles& source : plan.sources) {
    for (std::size_t i = 0; i < source.files.size(); ++i) {
      compare(source_key(source, i), source.files[i].path);
    }
  }
  return difference(as_now, plan.fingerprint).empty() ? text : "";
}

}  // namespace bp::trainer
