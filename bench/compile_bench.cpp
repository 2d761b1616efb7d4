// The compile time of a file that includes weft/weft.hpp.

#include "report.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace bench = weft::bench;

int main(int argc, char** argv) {
  bench::Report report(argc, argv, "Compile time of a program that includes weft/weft.hpp");
  const auto folder = std::filesystem::temp_directory_path() / "weft_compile_bench";
  std::filesystem::create_directories(folder);
  const auto source = folder / "program.cpp";
  std::ofstream(source) << "#include <weft/weft.hpp>\n"
                           "using namespace weft;\n"
                           "int main(int argc, char** argv) {\n"
                           "  return launch(argc, argv, [](Comm world) {\n"
                           "    DistributedArray<double> x(Layout::scatter(world, {11, 21}));\n"
                           "    x.fill([](Index at) { return at == Index{5, 10} ? 1.0 : 0.0; });\n"
                           "    print(world, \"norm {}\\n\", norm(x + 2.0 * x));\n"
                           "  });\n"
                           "}\n";
  const std::string command = WEFT_CXX_COMPILER " -std=c++20 -O2 -I " WEFT_INCLUDE_DIR " -c " +
                              source.string() + " -o " + (folder / "program.o").string();
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    int code = 0;
    times.push_back(bench::seconds([&] { code = std::system(command.c_str()); }));
    if (code != 0) return EXIT_FAILURE;
  }
  report.add_count("seconds", bench::median(times), 3);
  std::filesystem::remove_all(folder);
  return EXIT_SUCCESS;
}
