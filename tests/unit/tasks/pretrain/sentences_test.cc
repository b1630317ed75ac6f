#include "trainer/tasks/pretrain/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> all;
  split_sentences(text, [&](std::string_view sentence) { all.emplace_back(sentence); });
  return all;
}

TEST(Sentences, EndBehindAMarkAndWhiteSpace) {
  EXPECT_THAT(sentences_of("It rained. We left!  Why? Nobody knows"),
              ElementsAre("It rained.", "We left!", "Why?", "Nobody knows"));
  EXPECT_THAT(sentences_of("Pi is 3.14 or so. 7 is prime."),
              ElementsAre("Pi is 3.14 or so.", "7 is prime."));
  EXPECT_THAT(sentences_of("See a.b.c for more."), ElementsAre("See a.b.c for more."));
}

TEST(Sentences, TakeTheQuotesAndBracketsThatClose) {
  EXPECT_THAT(sentences_of("\"Stop!\" He stopped. (It worked.) “Good.” Then"),
              ElementsAre("\"Stop!\"", "He stopped.", "(It worked.)", "“Good.”", "Then"));
}

TEST(Sentences, GoOnBehindInitialsAbbreviationsAndBeforeLowerCase) {
  EXPECT_THAT(sentences_of("Dr. J. R. Smith of the U.S. Navy vs. Mr. Brown."),
              ElementsAre("Dr. J. R. Smith of the U.S. Navy vs. Mr. Brown."));
  EXPECT_THAT(sentences_of("He said \"no!\" and left. She (Prof. Lee) stayed."),
              ElementsAre("He said \"no!\" and left.", "She (Prof. Lee) stayed."));
}

TEST(Sentences, OfChineseAndJapaneseNeedNoWhiteSpace) {
  EXPECT_THAT(sentences_of("我来了。你好吗？好！"), ElementsAre("我来了。", "你好吗？", "好！"));
}

TEST(Sentences, AreNeverEmpty) {
  EXPECT_THAT(sentences_of(""), IsEmpty());
  EXPECT_THAT(sentences_of(" \t "), IsEmpty());
  EXPECT_THAT(sentences_of("  . ! A "), ElementsAre(".", "!", "A"));
}

}  // namespace
}  // namespace bp::trainer
