// Obstacles for files that all ranks write: links, FIFOs, folders, other programs.

#include <weft/core/error.hpp>
#include <weft/io/npy.hpp>

#include "array/layouts.hpp"
#include "io/folder.hpp"
#include "io/npy_images.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace weft::test {
namespace {

namespace fs = std::filesystem;

std::string image_of(const ConstArrayView<double>& x) {
  const index_t n = x.layout().shape()[0];
  return image(dictionary("<f8", fmt::format("({},)", n)),
               bytes_of(global_values<double>(x.layout())));
}

void make_socket(const std::string& path) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(descriptor, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::copy(path.begin(), path.end(), address.sun_path);
  EXPECT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(descriptor);
}

}  // namespace

TEST(File, a_failure_leaves_the_old_file) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const auto x = make_array<double>(Layout::scatter(comm, {30}));
      on_first(comm, [&] { fs::create_directories(folder + "/x.npy/full"); });
      expect_error<AgreedError>(comm, {"/x.npy' is a folder"},
                                [&] { write_npy(folder + "/x.npy", x); });
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"x.npy"});
      expect_error<AgreedError>(comm, {"empty"}, [&] { write_npy("", x); });
      expect_error<AgreedError>(comm, {"zero byte"},
                                [&] { write_npy(folder + std::string("/y\0z", 4), x); });
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"x.npy"});
    });
  });
}

TEST(File, other_files_in_the_folder_are_kept) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const auto x = make_array<double>(Layout::scatter(comm, {30}));
      const std::string path = folder + "/x.npy";
      write_on_first(comm, folder + "/victim", "precious");
      on_first(comm, [&] { fs::create_symlink(folder + "/victim", path + ".partial"); });
      write_npy(path, x);
      EXPECT_EQ(content_of(path), image_of(x));
      EXPECT_EQ(content_of(folder + "/victim"), "precious");
      EXPECT_TRUE(fs::is_symlink(path + ".partial"));
      on_first(comm, [&] {
        fs::remove(path + ".partial");
        fs::create_directory(path + ".partial");
      });
      write_npy(path, x);
      EXPECT_TRUE(fs::is_directory(path + ".partial"));
      EXPECT_EQ(names_in(folder), (std::vector<std::string>{"victim", "x.npy", "x.npy.partial"}));
    });
  });
}

TEST(File, other_than_regular_is_refused_without_blocking) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const Layout layout = Layout::scatter(comm, {3});
      const auto x = make_array<double>(layout);
      on_first(comm, [&] {
        EXPECT_EQ(mkfifo((folder + "/fifo").c_str(), 0666), 0);
        make_socket(folder + "/socket");
        fs::create_directory(folder + "/folder");
        fs::create_symlink("fifo", folder + "/link");
      });
      const auto names = names_in(folder);
      // No process writes to the FIFO: a plain open() blocks forever.
      alarm(60);
      for (const auto& [name, kind] : {std::pair{"/fifo", "a FIFO"},
                                       {"/socket", "a socket"},
                                       {"/folder", "a folder"},
                                       {"/link", "a FIFO"}}) {
        const std::string path = folder + name;
        const std::string told = name == std::string("/link") ? folder : path;
        expect_error<AgreedError>(comm, {told, kind}, [&] { read_npy<double>(path, layout); });
        expect_error<AgreedError>(comm, {told, kind}, [&] { write_npy(path, x); });
      }
      expect_error<AgreedError>(comm, {"/dev/zero", "a device"},
                                [&] { read_npy<double>("/dev/zero", layout); });
      alarm(0);
      EXPECT_EQ(names_in(folder), names);
    });
  });
}

TEST(File, follows_links) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const auto x = make_array<double>(Layout::scatter(comm, {30}));
      on_first(comm, [&] {
        fs::create_directory(folder + "/far");
        fs::create_symlink("far/second", folder + "/first");
        fs::create_symlink("../data", folder + "/far/second");
        fs::create_symlink("loop", folder + "/loop");
      });
      for (int times = 0; times < 2; ++times) {  // a new file, and an existing one
        write_npy(folder + "/first", x);
        EXPECT_TRUE(fs::is_symlink(folder + "/first"));
        EXPECT_TRUE(fs::is_symlink(folder + "/far/second"));
        EXPECT_EQ(content_of(folder + "/data"), image_of(x));
        comm.barrier();
      }
      expect_elements(read_npy<double>(folder + "/first", x.layout()),
                      local_values<double>(x.layout()));
      expect_error<AgreedError>(comm, {"/loop", "symbolic link"},
                                [&] { write_npy(folder + "/loop", x); });
      EXPECT_EQ(names_in(folder), (std::vector<std::string>{"data", "far", "first", "loop"}));
      EXPECT_EQ(names_in(folder + "/far"), std::vector<std::string>{"second"});
    });
  });
}

TEST(File, may_have_the_longest_possible_name) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const auto x = make_array<double>(Layout::scatter(comm, {30}));
      const std::string longest(255, 'x');
      write_npy(folder + "/" + longest, x);
      EXPECT_EQ(content_of(folder + "/" + longest), image_of(x));
      EXPECT_EQ(names_in(folder), std::vector<std::string>{longest});
      comm.barrier();
      expect_error<AgreedError>(comm, {"too long"},
                                [&] { write_npy(folder + "/" + longest + "x", x); });
    });
  });
}

TEST(File, of_two_concurrent_writers_has_the_content_of_one) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      // Every rank acts as a separate program.
      const Comm alone = Comm::self();
      const std::string path = folder + "/x.npy";
      std::vector<std::string> images;
      for (int rank = 0; rank < comm.size(); ++rank)
        images.push_back(image_of(make_array<double>(Layout::scatter(alone, {30 + rank}))));
      const auto mine = make_array<double>(Layout::scatter(alone, {30 + comm.rank()}));
      for (int times = 0; times < 50; ++times) {
        write_npy(path, mine);
        EXPECT_NE(std::find(images.begin(), images.end(), content_of(path)), images.end());
      }
      comm.barrier();
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"x.npy"});
    });
  });
}

}  // namespace weft::test
