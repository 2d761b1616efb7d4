#include "io/npy_images.hpp"

#include <weft/core/error.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::test {

std::string image(std::string text, std::string_view elements) {
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  const auto length = static_cast<char>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + length + '\0' + text + std::string(elements);
}

std::string dictionary(std::string_view type, std::string_view shape,
                       std::string_view fortran_order) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, fortran_order,
                     shape);
}

void expect_agreed(const Comm& comm, const std::vector<std::string>& words,
                   const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error, but one was expected with '" << words.front() << "'";
  } catch (const AgreedError& error) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is not in: " << error.what();
  }
  EXPECT_EQ(comm.allreduce(1), comm.size());
}

}  // namespace weft::test
