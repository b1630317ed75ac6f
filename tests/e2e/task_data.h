// Data for each task, from which a small model learns to do it.
#pragma once

#include <fstream>
#include <string>
#include <utility>

#include "base/text.h"

namespace bp::test {

// The number is the sum of what each word counts.
inline void write_sums(std::ofstream& out) {
  constexpr std::pair<const char*, int> kWords[] = {{"great", 2}, {"good", 1}, {"film", 0},
                                                    {"the", 0},   {"bad", -1}, {"awful", -2}};
  out << "text,target\n";
  for (int row = 0; row < 600; ++row) {
    int sum = 0;
    for (int word = 0; word < 2 + row % 5; ++word) {
      const auto& [text, value] = kWords[(row * 7 + word * (row % 11 + 3)) % 6];
      out << text << ' ';
      sum += value;
    }
    out << row % 10 << ',' << sum << ".5\n";
  }
}

// Each word says whether the text has its label, or means nothing.
inline void write_labels(std::ofstream& out) {
  constexpr std::pair<const char*, const char*> kWords[] = {
      {"sunny", "joy"}, {"ghost", "fear"}, {"soup", "food"}, {"the", ""}, {"of", ""}};
  out << "text,label\n";
  for (int row = 0; row < 900; ++row) {
    std::string labels;
    for (int word = 0; word < 1 + row % 5; ++word) {
      const auto& [text, label] = kWords[(row * 7 + word * (row % 4 + 1)) % 5];
      out << text << ' ';
      if (*label != 0) labels += concat(labels.empty() ? "" : ";", label);
    }
    out << "and," << labels << '\n';
  }
}

// The label says whether the second text names the colour of the first one.
inline void write_pairs(std::ofstream& out) {
  constexpr const char* kColours[] = {"red", "blue", "green"};
  out << "premise,hypothesis,label\n";
  for (int row = 0; row < 900; ++row) {
    const int first = row % 3;
    const int second = (row / 3 + row % 5) % 3;
    out << "the stone is " << kColours[first] << ",it is " << kColours[second] << ','
        << (first == second ? "follows" : "contradicts") << '\n';
  }
}

// Each document is a run of numbers in words, of which the neighbours of a hidden one tell it.
inline void write_runs(std::ofstream& out) {
  constexpr const char* kWords[] = {"one", "two",   "three", "four", "five",
                                    "six", "seven", "eight", "nine", "ten"};
  for (int document = 0; document < 400; ++document) {
    for (int word = 0; word < 12; ++word) out << kWords[(document * 3 + word) % 10] << ' ';
    out << "\n\n";
  }
}

// A name is one word or two; "new" is part of a place or of a person, which its neighbour tells.
inline void write_names(std::ofstream& out) {
  constexpr const char* kParts[] = {"anna B-PER\nnew I-PER\n",
                                    "otto B-PER\nsmith I-PER\n",
                                    "new B-LOC\nyork I-LOC\n",
                                    "delhi B-LOC\n",
                                    "went O\nto O\n",
                                    "the O\nold O\n",
                                    "river O\n"};
  for (int row = 0; row < 600; ++row) {
    for (int part = 0; part < 3 + row % 4; ++part) {
      out << kParts[(row * 3 + part * (row % 5 + 1) + row / 7) % 7];
    }
    out << '\n';
  }
}

// The verb decides who is meant.
inline void write_pronouns(std::ofstream& out) {
  constexpr const char* kNames[] = {"Anna", "Mary", "Eve", "Ruth", "Joan"};
  struct Verb {
    const char* text;
    const char* a;
    const char* b;
  };
  constexpr Verb kVerbs[] = {
      {"thanked", "FALSE", "TRUE"}, {"helped", "TRUE", "FALSE"}, {"saw", "FALSE", "FALSE"}};
  out << "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n";
  for (int row = 0; row < 600; ++row) {
    const std::string a = kNames[row % 5];
    const std::string b = kNames[(row + 1 + row / 5 % 4) % 5];
    const Verb& verb = kVerbs[(row / 3 + row % 7) % 3];
    const std::string first = concat("Once ", a, ' ', verb.text, ' ');
    const std::string text = concat(first, b, ", and she smiled.");
    out << "made-" << row + 1 << '\t' << text << "\tshe\t" << text.find(" she ") + 1 << '\t' << a
        << "\t5\t" << verb.a << '\t' << b << '\t' << first.size() << '\t' << verb.b
        << "\thttp://example.org/" << row << '\n';
  }
}

// Each document has sentences of numbers in words, which go on from one to the next.
inline void write_documents(std::ofstream& out) {
  constexpr const char* kWords[] = {"one", "two",   "three", "four", "five",
                                    "six", "seven", "eight", "nine", "ten"};
  for (int document = 0; document < 300; ++document) {
    for (int word = 0; word < 20; ++word) {
      out << kWords[(document * 3 + word) % 10] << (word % 5 == 4 ? ".\n" : " ");
    }
    out << '\n';
  }
}

// A command that makes the vocabulary of these documents and runs.
inline constexpr const char* kMakeVocabulary =
    "for word in [PAD] [UNK] [CLS] [SEP] [MASK] . one two three four five six seven eight nine "
    "ten; do echo $word; done > vocab.txt";

}  // namespace bp::test
