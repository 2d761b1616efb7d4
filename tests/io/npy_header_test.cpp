// Headers that NumPy refuses, or interprets in an unexpected way.

#include <weft/core/error.hpp>
#include <weft/io/npy.hpp>

#include "io/folder.hpp"
#include "io/npy_images.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace weft::test {
namespace {

const std::string twelve(12 * 8, '\0');

/// The error of npy_info for a file; empty if it is accepted.
std::string error_for(const std::string& content) {
  std::string message;
  in_folder(Comm::self(), [&](const std::string& folder) {
    const std::string path = folder + "/x.npy";
    std::ofstream(path, std::ios::binary) << content;
    try {
      npy_info(path);
    } catch (const Error& error) {
      message = error.what();
      EXPECT_NE(message.find(path), std::string::npos) << message;
    }
  });
  return message;
}

void expect_refused(const std::string& content, const std::string& word) {
  const std::string message = error_for(content);
  EXPECT_NE(message.find(word), std::string::npos)
      << "'" << word << "' is not in \"" << message << "\"";
}

void expect_taken(const std::string& content) { EXPECT_EQ(error_for(content), ""); }

std::string with_version(int major, int minor, const std::string& text) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(major);
  file += static_cast<char>(minor);
  file += static_cast<char>(text.size() % 256);
  file += static_cast<char>(text.size() / 256);
  if (major > 1) file += std::string(2, '\0');
  return file + text + twelve;
}

const std::string good = dictionary("<f8", "(3, 4)");

}  // namespace

TEST(NpyHeader, nothing_follows_the_dictionary) {
  expect_taken(image(good, twelve));
  expect_taken(with_version(1, 0, good));
  expect_taken(with_version(1, 0, good + " \t\n  \n"));
  expect_refused(with_version(1, 0, good + "  \r  \n"), "\"\\x0d  \\x0a\"");
  expect_refused(image(good + "rubbish", twelve), "\"rubbish");
  expect_refused(image(good + "}", twelve), "\"}");
  expect_refused(image(good + ",", twelve), "follows");
  expect_refused(image(good + good, twelve), "follows");
  expect_refused(with_version(1, 0, good + std::string(3, '\0')), "\\x00\\x00\\x00");
}

TEST(NpyHeader, accepts_versions_1_to_3) {
  for (const int major : {1, 2, 3}) {
    expect_taken(with_version(major, 0, good));
    for (const int minor : {1, 2, 255})
      expect_refused(with_version(major, minor, good), fmt::format("version {}.{}", major, minor));
  }
  for (const int major : {0, 4, 255})
    expect_refused(with_version(major, 0, good), fmt::format("version {}.0", major));
}

TEST(NpyHeader, has_each_entry_once) {
  expect_refused(
      image("{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}", twelve),
      "two entries 'descr'");
  expect_refused(
      image("{'shape': (3, 4), 'descr': '<f8', 'fortran_order': False, 'shape': (12,)}", twelve),
      "two entries 'shape'");
  expect_refused(image("{'fortran_order': True, 'descr': '<f8', 'fortran_order': False, "
                       "'shape': (3, 4)}",
                       twelve),
                 "two entries 'fortran_order'");
}

TEST(NpyHeader, shapes_are_tuples_of_extents) {
  expect_taken(image(dictionary("<f8", "(12,)"), twelve));
  expect_taken(image(dictionary("<f8", "(3, 4,)"), twelve));
  expect_taken(image(dictionary("<f8", "()"), twelve));
  expect_taken(image(dictionary("<f8", "(0, 4)"), twelve));
  expect_taken(image(dictionary("<f8", "(3L, 4L)"), twelve));
  expect_refused(image(dictionary("<f8", "(12)"), twelve), "not a tuple");
  expect_refused(with_version(3, 0, dictionary("<f8", "(3L, 4L)")), "header");
  for (const char* shape :
       {"(03, 4)", "(-0, 4)", "(-3, 4)", "(+3, 4)", "(3.0, 4)", "(3, , 4)", "(,)", "(3, 4", "3, 4",
        "[3, 4]", "(0x3, 4)", "(3, 9223372036854775808)", "(99999999999999999999999999, 0)"})
    expect_refused(image(dictionary("<f8", shape), twelve), "header");
  expect_refused(image(dictionary("<f8", "(4294967296, 4294967296, 0)"), twelve), "64 bits");
}

TEST(NpyHeader, has_the_stated_length) {
  const std::string file = image(good, twelve);
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(error_for(file.substr(0, length)), "") << length;
  // Another array may follow the elements; NumPy ignores it.
  expect_taken(file + file);
  std::string beyond = file;
  beyond[8] = static_cast<char>(0xff);
  beyond[9] = 0x20;
  expect_refused(beyond, "not complete");
  expect_refused(with_version(1, 0, good + std::string(10'001 - good.size(), ' ')), "10001 bytes");
  expect_taken(with_version(1, 0, good + std::string(10'000 - good.size(), ' ')));
}

TEST(NpyHeader, is_quoted_in_a_few_printable_characters) {
  const std::string wild = "\x1b]0;title\a\x1b[2J\xff" + std::string(9000, 'A');
  for (const std::string& text :
       {wild, "{'" + wild + "': 1}", "{'descr': '" + wild + "'}", "{'shape': (" + wild + ")}",
        good + wild, "{'shape': (3, 4)" + wild}) {
    const std::string message = error_for(with_version(1, 0, text));
    ASSERT_NE(message, "");
    EXPECT_LT(message.size(), 300U) << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return c >= ' ' && c <= '~';
    })) << message;
    EXPECT_NE(message.find("\\x1b]0;title"), std::string::npos) << message;
  }
}

}  // namespace weft::test
