#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace weft {

TEST(Error, has_one_base) {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  static_assert(std::is_base_of_v<Error, ArgumentError>);
  static_assert(std::is_base_of_v<Error, DeviceError>);
  static_assert(std::is_base_of_v<Error, CommError>);
  static_assert(std::is_base_of_v<Error, AgreedError>);
  // Errors of a broken communicator are CommErrors; errors that leave it usable are not.
  static_assert(std::is_base_of_v<CommError, AbortedError>);
  static_assert(std::is_base_of_v<CommError, TimeoutError>);
  static_assert(!std::is_base_of_v<CommError, AgreedError>);
  static_assert(!std::is_base_of_v<CommError, ArgumentError>);
  const auto caught = [](auto error) {
    try {
      throw error;
    } catch (const std::runtime_error& base) {
      return std::string(base.what());
    }
  };
  EXPECT_EQ(caught(Error("a")), "a");
  EXPECT_EQ(caught(ArgumentError("b")), "b");
  EXPECT_EQ(caught(DeviceError("c")), "c");
  EXPECT_EQ(caught(TimeoutError("d")), "d");
  EXPECT_EQ(caught(AgreedError("e")), "e");
}

TEST(Error, of_another_rank_names_rank_and_reason) {
  const AbortedError error(3, "no space left");
  EXPECT_EQ(error.failed_rank(), 3);
  EXPECT_EQ(error.reason(), "no space left");
  const std::string text = error.what();
  EXPECT_NE(text.find("rank 3"), std::string::npos) << text;
  EXPECT_NE(text.find("no space left"), std::string::npos) << text;
}

TEST(Error, of_an_argument_is_thrown_by_require) {
  EXPECT_NO_THROW(require(true, "never"));
  EXPECT_NO_THROW(require(true, "not {}", 1));
  try {
    require(1 > 2, "axis {} of {}", 7, "three");
    FAIL() << "no exception was thrown";
  } catch (const ArgumentError& error) {
    EXPECT_STREQ(error.what(), "axis 7 of three");
  }
}

}  // namespace weft
