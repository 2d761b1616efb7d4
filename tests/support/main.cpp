#include "support/ranks.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return weft::test::run_all_tests(argc, argv);
}
