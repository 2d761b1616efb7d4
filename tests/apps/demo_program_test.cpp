// Runs `weft demo` as a program. The demos check their own results in separate CTest entries.

#include "demo/demo.hpp"
#include "support/shell.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using namespace weft;
using test::Ended;

Ended run(const std::string& command) {
  return test::run_shell("export WEFT_QUIET=1 OMP_NUM_THREADS=1; W='timeout 60 " WEFT_TEST_APP "'",
                         command);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string content_of(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

/// The name of a temporary report.
class ReportPath {
 public:
  ReportPath() : path_(testing::TempDir() + "weft_demo_program_test.html") {
    std::filesystem::remove(path_);
  }
  ReportPath(const ReportPath&) = delete;
  ReportPath& operator=(const ReportPath&) = delete;
  ~ReportPath() { std::filesystem::remove(path_); }

  operator const std::string&() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* small = "derivative --shape 48,16 --quiet";

TEST(DemoProgram, lists_all_demos) {
  for (const char* command : {"$W demo list", "$W demo list --ranks 3", "$W demo --help"}) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0) << ended.output;
    for (const app::Demo& demo : app::demos()) {
      const auto first = ended.output.find(demo.summary);
      EXPECT_NE(first, std::string::npos) << demo.name << " in\n" << ended.output;
      EXPECT_EQ(ended.output.find(demo.summary, first + 1), std::string::npos) << ended.output;
      EXPECT_TRUE(contains(ended.output, demo.axes)) << ended.output;
    }
  }
}

TEST(DemoProgram, help_describes_each_demo) {
  for (const app::Demo& demo : app::demos()) {
    const Ended ended = run(fmt::format("$W demo {} --help", demo.name));
    EXPECT_EQ(ended.code, 0);
    for (const char* option : {"--shape", "--iterations", "--noise", "--report", "--quiet",
                               "--no-report", "--ranks", "--device", "--comm"}) {
      EXPECT_TRUE(contains(ended.output, option)) << option << " in\n" << ended.output;
    }
  }
}

TEST(DemoProgram, follows_links_to_the_report) {
  const ReportPath report;
  const std::string target = static_cast<const std::string&>(report) + ".target";
  std::filesystem::remove(target);
  std::filesystem::create_symlink(target, static_cast<const std::string&>(report));
  const Ended ended =
      run(fmt::format("$W demo {} --report '{}'", small, static_cast<const std::string&>(report)));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(std::filesystem::is_symlink(static_cast<const std::string&>(report)));
  EXPECT_TRUE(contains(content_of(target), "<html")) << ended.output;
  std::filesystem::remove(target);
}

TEST(DemoProgram, reports_usage_errors_in_one_line_and_keeps_the_report) {
  const ReportPath report;
  std::ofstream(report) << "old";
  for (const char* bad : {"demo dance",
                          "demo --shape 32,32",
                          "demo derivative --shape 3,300",
                          "demo derivative --shape 64",
                          "demo --iterations 0",
                          "demo mdd --iterations -2",
                          "demo --noise -1",
                          "demo --noise nan",
                          "demo --shape x",
                          "demo derivative --shape 8,,8",
                          "demo derivative --shape 8,16,",
                          "demo derivative --shape ''",
                          "demo derivative --shape 3037000500,3037000500",
                          "demo --iterations 99999999999999999999",
                          "demo --iterations 1.5",
                          "demo derivative --noise 0.5",
                          "demo mdd --noise 0",
                          "demo --noise inf",
                          "demo --no-report",
                          "demo list --shape 9,9",
                          "demo list",
                          "demo --dance",
                          "demo derivative --comm pigeon",
                          "demo derivative --device abacus",
                          "demo derivative --ranks 0"}) {
    const Ended ended = run(fmt::format("$W {} --report '{}' > /dev/null", bad,
                                        static_cast<const std::string&>(report)));
    EXPECT_EQ(ended.code, 2) << bad;
    EXPECT_EQ(ended.output.rfind("weft: ", 0), 0U) << bad << "\n" << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << bad << "\n"
                                                                             << ended.output;
    EXPECT_EQ(content_of(report), "old") << bad;
  }
}

TEST(DemoProgram, runs_on_any_ranks_and_devices) {
  const ReportPath report;
  const std::string& path = report;
  for (const char* how : {"--ranks 1", "--ranks 4", "--ranks 2 --device debug", "--comm self"}) {
    const Ended ended = run(fmt::format("$W demo {} {} --report '{}'", small, how, path));
    EXPECT_EQ(ended.code, 0) << how << "\n" << ended.output;
    EXPECT_TRUE(contains(ended.output, "\nok ")) << ended.output;
    EXPECT_TRUE(contains(ended.output, "\nall checks passed in ")) << ended.output;
    EXPECT_TRUE(contains(content_of(path), "first_derivative")) << how;
    std::filesystem::remove(path);
  }
}

TEST(DemoProgram, reports_models_errors_times_and_messages) {
  const ReportPath report;
  const std::string& path = report;
  const Ended ended =
      run(fmt::format("$W demo --shape 8,24,96 --ranks 2 --quiet --report '{}'", path));
  EXPECT_EQ(ended.code, 0) << ended.output;
  const std::string html = content_of(path);
  for (const char* inversion :
       {"plain least squares", "smooth: Laplacian", "layered: total variation"}) {
    const auto line = ended.output.find(std::string("\n") + inversion + "  ");
    ASSERT_NE(line, std::string::npos) << ended.output;
    EXPECT_NE(ended.output.substr(line, 120).find("relative error 0."), std::string::npos);
    EXPECT_TRUE(contains(html, inversion));
  }
  for (const char* part : {"Model and data", "background", "Convergence", "wavelet", "derivative",
                           "Laplacian", "allreduce", "<svg"}) {
    EXPECT_TRUE(contains(html, part)) << part;
  }
#ifdef WEFT_WITH_PNG
  EXPECT_TRUE(contains(html, "data:image/png;base64,"));
#else
  EXPECT_TRUE(contains(html, "built without libpng"));
#endif
  // It is self-contained.
  for (const char* link : {"http:", "https:", "<link", "<script src", "@import"}) {
    EXPECT_FALSE(contains(html, link)) << link;
  }
}

TEST(DemoProgram, runs_on_mpi) {
  WEFT_SKIP_WITHOUT_MPI();
  const ReportPath report;
  const std::string& path = report;
  const Ended ended =
      run(fmt::format("{} -n 2 $W demo {} --report '{}'", WEFT_MPIEXEC, small, path));
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(contains(content_of(path), "2 ranks on mpi")) << ended.output;
}

TEST(DemoProgram, reports_that_the_iteration_limit_was_reached) {
  const ReportPath report;
  const std::string& path = report;
  for (const app::Demo& demo : app::demos()) {
    // One iteration is too few for any demo.
    const std::string shape = demo.shape.size() == 3 ? "8,24,96" : "32,96";
    const Ended ended =
        run(fmt::format("$W demo {} --shape {} --iterations 1 --ranks 2 --quiet "
                        "--report '{}'",
                        demo.name, shape, path));
    EXPECT_EQ(ended.code, 1) << demo.name << "\n" << ended.output;
    EXPECT_TRUE(contains(ended.output, "\nFAIL ")) << ended.output;
    EXPECT_TRUE(contains(ended.output, " checks FAILED in ")) << ended.output;
    EXPECT_TRUE(contains(ended.output,
                         "reached its limit of 1 iterations before it converged: "
                         "allow more with --iterations\n"))
        << ended.output;
    EXPECT_TRUE(
        contains(ended.output, fmt::format("this run had --shape {} --iterations 1\n", shape)))
        << ended.output;
    // The report is also written after a failure.
    EXPECT_TRUE(contains(content_of(path), "</html>")) << demo.name;
    std::filesystem::remove(path);
  }
}

TEST(DemoProgram, reports_options_that_differ_from_the_defaults) {
  const Ended ended = run("$W demo reflectivity --shape 8,8 --noise 2 --ranks 2 --no-report");
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_TRUE(contains(ended.output,
                       "the limits of the checks hold for the default options; this run had "
                       "--shape 8,8 --noise 2\n"))
      << ended.output;
}

TEST(DemoProgram, checks_that_the_report_can_be_written_before_it_solves) {
  const std::string folder = testing::TempDir();
  for (const std::string& path : {std::string("/no/such/folder/x.html"), folder,
                                  std::string("/dev/null"), folder + "weft_fifo"}) {
    const Ended ended =
        run(fmt::format("mkfifo '{0}weft_fifo'; $W demo {1} --ranks 3 --report '{2}'; code=$?; "
                        "rm '{0}weft_fifo'; exit $code",
                        folder, small, path));
    EXPECT_EQ(ended.code, 1) << path;
    EXPECT_EQ(ended.output.rfind(fmt::format("weft: rank 0: cannot write '{}': ", path), 0), 0U)
        << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(DemoProgram, leaves_no_file_if_it_fails) {
  const ReportPath report;
  const std::string& path = report;
  // Too large for any memory, which fails after the check of the report.
  const std::string command =
      fmt::format("$W demo derivative --shape 100000,1000000000 --ranks 2 --report '{}'", path);
  EXPECT_EQ(run(command).code, 1);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "old";
  EXPECT_EQ(run(command).code, 1);
  EXPECT_EQ(content_of(path), "old");
}

TEST(DemoProgram, refuses_an_option_as_the_name_of_the_report) {
  for (const char* bad : {"--report= --quiet", "--report --quiet", "--report ''",
                          "--report=", "--report x --no-report"}) {
    const Ended ended = run(fmt::format("cd '{}' && $W demo {} {}", testing::TempDir(),
                                        "derivative --shape 48,16", bad));
    EXPECT_EQ(ended.code, 2) << bad << "\n" << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
    EXPECT_FALSE(std::filesystem::exists(testing::TempDir() + "--quiet")) << bad;
  }
}

TEST(DemoProgram, shows_progress_unless_quiet) {
  const std::string options = "demo derivative --shape 48,16 --ranks 3 --no-report";
  const std::string shown = run(fmt::format("$W {} 2>&1 > /dev/null", options)).output;
  const auto first = shown.find("cgls: 0 of ");
  EXPECT_NE(first, std::string::npos) << shown;
  EXPECT_EQ(shown.find("cgls: 0 of ", first + 1), std::string::npos) << shown;
  EXPECT_EQ(run(fmt::format("$W {} --quiet 2>&1 > /dev/null", options)).output, "");
}

}  // namespace
