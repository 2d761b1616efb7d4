// Checkpoints with unusual paths, concurrent jobs, and damaged or forged files.

#include <weft/core/error.hpp>

#include "solve/support/checkpoints.hpp"
#include "solve/support/forged_checkpoint.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

namespace weft::test {
namespace {

namespace fs = std::filesystem;

void set_number(CheckpointImage& image, std::size_t index_from_end, double value) {
  const std::size_t at = image.body.size() - 8 * index_from_end;
  std::memcpy(image.body.data() + at, &value, sizeof(value));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "no " + from + " in " + text : text.replace(at, from.size(), to);
}

}  // namespace

TEST(CheckpointFile, unusable_paths_are_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      on_first(comm, [&] {
        fs::create_symlink("loop", folder + "/loop");
        fs::create_directory(folder + "/folder");
        EXPECT_EQ(mkfifo((folder + "/fifo").c_str(), 0666), 0);
      });
      write_on_first(comm, folder + "/file", "");
      const auto names = names_in(folder);
      const Setting setting;
      alarm(60);
      for (const bool resume : {true, false}) {
        const auto refused = [&](const std::string& name, const std::vector<std::string>& words) {
          SolverOptions options = up_to(5, folder + name);
          options.checkpoint->resume = resume;
          expect_error<AgreedError>(comm, words, [&] { setting.make(comm, options); });
        };
        refused("/loop", {"/loop", "symbolic link"});
        refused("/file/state", {"/file/state", "directory"});
        refused("/" + std::string(300, 'x'), {"xxx", "too long"});
        refused("/folder", {"/folder", "is a folder"});
        refused("/fifo", {"/fifo", "is a FIFO"});
        refused("/nowhere/state", {"/nowhere/state", "folder exists"});
      }
      alarm(0);
      EXPECT_EQ(names_in(folder), names);
    });
  });
}

TEST(CheckpointFile, follows_symbolic_links) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      on_first(comm, [&] {
        fs::create_directory(folder + "/far");
        fs::create_symlink("far/state", folder + "/link");
      });
      const Setting setting;
      for (const index_t iterations : {5, 9}) {
        setting.make(comm, up_to(iterations, folder + "/link"))->run();
        comm.barrier();
        EXPECT_TRUE(fs::is_symlink(folder + "/link"));
        EXPECT_EQ(names_in(folder), (std::vector<std::string>{"far", "link"}));
        EXPECT_EQ(names_in(folder + "/far"), std::vector<std::string>{"state"});
        EXPECT_EQ(setting.make(comm, up_to(20, folder + "/far/state"))->iteration(), iterations);
      }
      // The lock belongs to the file, not to the name.
      const auto running = setting.make(comm, up_to(20, folder + "/link"));
      expect_error<AgreedError>(comm, {"/far/state", "in use"},
                                [&] { setting.make(comm, up_to(20, folder + "/far/state")); });
    });
  });
}

TEST(CheckpointFile, is_locked_by_one_solver_at_a_time) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Setting setting;
      std::int64_t owner = getpid();
      comm.broadcast(BufferRef(&owner, 1), 0);
      const auto refused = [&] {
        for (const bool resume : {true, false}) {
          SolverOptions options = up_to(20, path);
          options.checkpoint->resume = resume;
          expect_error<AgreedError>(comm, {path, "in use", fmt::format("process {} on", owner)},
                                    [&] { setting.make(comm, options); });
        }
      };
      auto first = setting.make(comm, up_to(5, path));
      refused();
      first->step();
      refused();
      first->run();
      comm.barrier();
      // The first solver has stopped and released the path.
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"state"});
      auto second = setting.make(comm, up_to(20, path));
      EXPECT_EQ(second->iteration(), 5);
      refused();
      second.reset();
      comm.barrier();
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"state"});
      // A solver that stops as soon as it resumes releases the path, too.
      const auto third = setting.make(comm, up_to(5, path));
      EXPECT_EQ(setting.make(comm, up_to(20, path))->iteration(), 5);
    });
  });
}

TEST(CheckpointFile, removes_the_files_of_a_killed_job) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const std::string left = "state.partial-0123456789abcdef";
      write_on_first(comm, folder + "/" + left, "what was written until then");
      write_on_first(comm, folder + "/precious", "mine");
      write_on_first(comm, path + ".lock", "process 1 on nowhere\n" + left + "\n");
      Setting{}.make(comm, up_to(5, path))->run();
      comm.barrier();
      EXPECT_EQ(names_in(folder), (std::vector<std::string>{"precious", "state"}));
      // A forged lock file cannot make it remove other files.
      for (const std::string& name :
           {std::string("precious"), "../" + fs::path(folder).filename().string() + "/precious",
            folder + "/precious", std::string(5000, 'x'), std::string("\n\n\n")}) {
        write_on_first(comm, path + ".lock", "process 1 on nowhere\n" + name + "\n");
        Setting{}.make(comm, up_to(5, path))->run();
        comm.barrier();
        EXPECT_EQ(names_in(folder), (std::vector<std::string>{"precious", "state"}));
      }
    });
  });
}

TEST(CheckpointFile, does_not_take_other_files_for_its_lock) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const auto refused = [&] {
        expect_error<AgreedError>(comm, {path + ".lock", "not a lock"},
                                  [&] { Setting{}.make(comm, up_to(5, path)); });
      };
      write_on_first(comm, path + ".lock", "versions of all packages\n");
      refused();
      EXPECT_EQ(content_of(path + ".lock"), "versions of all packages\n");
      // Nor a hard link to another file.
      const std::string text = "process 1 on nowhere\n\n";
      write_on_first(comm, folder + "/theirs", text);
      on_first(comm, [&] {
        fs::remove(path + ".lock");
        fs::create_hard_link(folder + "/theirs", path + ".lock");
      });
      refused();
      EXPECT_EQ(content_of(folder + "/theirs"), text);
    });
  });
}

TEST(CheckpointFile, that_is_corrupted_or_truncated_anywhere_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Setting setting{.rows = 5};
      setting.make(comm, up_to(3, path))->run();
      comm.barrier();
      const std::string good = content_of(path);
      const std::size_t step = comm.size() == 1 ? 1 : 37;
      int accepted = 0;
      const auto try_to_resume = [&](const std::string& content) {
        write_on_first(comm, path, content);
        try {
          setting.make(comm, up_to(9, path));
          ++accepted;
        } catch (const AgreedError& error) {
          EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        }
      };
      for (std::size_t at = 0; at < good.size(); at += step) {
        for (const int bit : {0, 4, 7}) {
          std::string bad = good;
          bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
          try_to_resume(bad);
        }
        try_to_resume(good.substr(0, at));
      }
      EXPECT_EQ(accepted, 0);
      comm.barrier();
      write_on_first(comm, path, good);
      EXPECT_EQ(setting.make(comm, up_to(9, path))->iteration(), 3);
    });
  });
}

TEST(CheckpointFile, that_is_forged_is_rejected) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      const Setting setting{.rows = 20};
      setting.make(comm, up_to(5, path))->run();
      comm.barrier();
      const auto good = take_apart(content_of(path));
      ASSERT_TRUE(good);
      ASSERT_EQ(sealed(*good), content_of(path));
      const auto refused = [&](const std::string& reason, const auto& forge) {
        CheckpointImage image = *good;
        forge(image);
        write_on_first(comm, path, sealed(image));
        expect_refused(path, reason, [&] { setting.make(comm, up_to(9, path)); });
        comm.barrier();
      };
      const auto with_line = [&](const std::string& key, const std::string& from,
                                 const std::string& to, const std::string& reason) {
        SCOPED_TRACE(key + ": " + to);
        refused(reason,
                [&](auto& image) { image.line(key) = replaced(image.line(key), from, to); });
      };
      const std::string ranks = "ranks " + std::to_string(comm.size());
      for (const char* number : {"0", "-1", "2147483648", "4611686018427387904", "99", "x", ""})
        with_line("ranks", ranks, std::string("ranks ") + number, "");
      for (const char* number :
           {"0", "-1", "5", "288230376151711744", "1152921504606846976", "9223372036854775807"})
        with_line("history", "history 6", std::string("history ") + number, "damaged");
      for (const char* shape : {"f64 8 1152921504606846976 20", "f64 8 -1 20", "f64 8 9 20",
                                "f64 8 1 -20", "f64 8 1 4611686018427387904", "f64 0 1 20",
                                "f64 -8 1 20", "f64 2305843009213693952 1 8", "f64 1 1 160",
                                "f64 16 1 10", "f32 8 1 20", "i64 8 1 20", "f64 8 2 20 1"})
        with_line("array", "f64 8 1 20", shape, "");
      for (const char* bytes : {"0", "-8", "4", "9", "8", "1152921504606846976"}) {
        refused("", [&](auto& image) {
          image.line("numbers") = std::string("numbers ") + bytes + " scalars";
        });
      }
      // As if saved by twice as many ranks with half of the numbers each.
      refused("bytes of scalars", [&](auto& image) {
        image.line("partition") = "partition 0123456789abcdef";
        image.line("ranks") = fmt::format("ranks {}", 2 * comm.size());
        image.line("numbers") =
            fmt::format("numbers {} scalars", std::stol(image.line("numbers").substr(8)) / 2);
      });
      with_line("integer", "5", "-5", "a counter is -5");
      with_line("integer", "5", "4", "ends in another iteration");
      with_line("integer", "5", "05", "does not have the format");
      with_line("solver", "cgls", std::string(50000, '\x1b'), "its solver is \\x1b");
      refused("does not have the format",
              [](auto& image) { image.lines.push_back("something else"); });
      refused("does not have the format",
              [](auto& image) { image.lines.push_back(image.line("ranks")); });
      refused("does not have the format",
              [](auto& image) { std::swap(image.lines[0], image.lines[1]); });
      refused("does not have the format",
              [](auto& image) { image.lines.erase(image.lines.begin() + 1); });
      refused("", [](auto& image) { image.lines.clear(); });

      // Fewer arrays, with names that imitate the description of all arrays.
      refused("array 1", [](auto& image) {
        image.line("array") = "array f64 8 1 60 x (f64 of (20)), r (f64 of (20)), p";
        for (int times = 0; times < 2; ++times) {
          const auto at = std::find_if(image.lines.begin(), image.lines.end(), [](auto& line) {
            return line.starts_with("array f64 8 1 20");
          });
          image.lines.erase(at);
        }
      });
      // Iterations that are not integers, or not in order.
      for (const double iteration :
           {std::nan(""), std::numeric_limits<double>::infinity(), 1e300, -1e300, -1.0, 4.5, 3.0})
        refused("history is out of order", [&](auto& image) { set_number(image, 4, iteration); });
      // A property with an infinite tolerance.
      refused("damp", [](auto& image) {
        image.line("property") =
            fmt::format("property {:016x} {:016x} damp", std::bit_cast<std::uint64_t>(7.0),
                        std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()));
      });
      write_on_first(comm, path, sealed(*good));
      EXPECT_EQ(setting.make(comm, up_to(9, path))->iteration(), 5);
    });
  });
}

TEST(CheckpointFile, with_a_huge_header_allocates_no_memory) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/state";
      constexpr std::uint64_t size = std::uint64_t{1} << 40;
      write_on_first(comm, path, fmt::format("weft checkpoint 1 {:016x} {:016x}\n", size - 52, 1));
      on_first(comm, [&] { fs::resize_file(path, size); });  // sparse: uses no disk blocks
      expect_error<AgreedError>(comm, {path, "its header has 1099511627724 bytes"},
                                [&] { Setting{}.make(comm, up_to(9, path)); });
    });
  });
}

}  // namespace weft::test
