#include "comm/fast_info.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace weft::detail {
namespace {

/// One GPU with everything that the route "fast" can use.
GpuSharing one_gpu() {
  GpuSharing sharing;
  sharing.rank.nccl_version = 22809;
  sharing.rank.connections = 32;
  sharing.ipc = true;
  sharing.mps = true;
  return sharing;
}

std::map<std::string, std::string> info(const GpuSharing& sharing) {
  const InfoLines lines = gpu_sharing_info(sharing);
  return {lines.begin(), lines.end()};
}

}  // namespace

TEST(FastInfo, shows_shared_memory_table_and_order) {
  const InfoLines lines = fast_allreduce_info();
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[0].first, "shared memory");
  EXPECT_EQ(lines[1].first, "table");
  EXPECT_EQ(lines[2].first, "order");
  for (const auto& [name, value] : lines) {
    EXPECT_LT(name.size(), 21U) << "the width of the column in weft info";
    EXPECT_FALSE(value.empty()) << name;
  }
}

TEST(FastInfo, shows_the_routes_without_a_request) {
  const auto lines = info(one_gpu());
  EXPECT_EQ(lines.at("hardware queues"), "32");
  EXPECT_EQ(lines.at("CUDA IPC"), "supported");
  EXPECT_EQ(lines.at("peer access"), "there is one GPU");
  EXPECT_EQ(lines.at("CUDA MPS"), "runs");
  EXPECT_EQ(lines.at("threads on one GPU").rfind("fast: the ranks share a GPU", 0), 0U);
  EXPECT_EQ(lines.at("processes on one GPU").rfind("fast: the ranks share a GPU", 0), 0U);
  for (const auto& line : lines) EXPECT_LT(line.first.size(), 21U) << line.first;
}

TEST(FastInfo, shows_the_requested_route) {
  GpuSharing sharing = one_gpu();
  sharing.rank.request = RouteRequest::fast;
  EXPECT_EQ(info(sharing).at("threads on one GPU"), "fast: set by WEFT_DEVICE_COMM");
  EXPECT_EQ(info(sharing).at("processes on one GPU"), "fast: set by WEFT_DEVICE_COMM");
  sharing.rank.by_option = 1;
  sharing.mps = false;
  EXPECT_EQ(info(sharing).at("processes on one GPU"), "fast: set by --comm fast; slow without MPS");
  sharing.ipc = false;
  EXPECT_EQ(info(sharing).at("processes on one GPU"),
            "fast: set by --comm fast; it will fail, since there is no CUDA IPC");
}

TEST(FastInfo, shows_why_a_request_is_refused) {
  GpuSharing sharing = one_gpu();
  sharing.rank.request = RouteRequest::fast;
  sharing.rank.connections = 8;
  EXPECT_NE(info(sharing).at("threads on one GPU").find("CUDA_DEVICE_MAX_CONNECTIONS=32"),
            std::string::npos);
  EXPECT_EQ(info(sharing).at("threads on one GPU").rfind("refused: WEFT_DEVICE_COMM=fast: ", 0),
            0U);
  EXPECT_EQ(info(sharing).at("processes on one GPU").rfind("fast: ", 0), 0U);
  sharing.rank.fast_allowed = 0;
  EXPECT_EQ(info(sharing).at("processes on one GPU"),
            "refused: WEFT_DEVICE_COMM=fast: WEFT_FAST=0 on rank 0");
}

TEST(FastInfo, shows_what_is_missing) {
  GpuSharing sharing = one_gpu();
  sharing.ipc = false;
  sharing.mps = false;
  sharing.gpus = 2;
  EXPECT_EQ(info(sharing).at("CUDA IPC"), "not supported");
  EXPECT_NE(info(sharing).at("processes on one GPU").find("staged: "), std::string::npos);
  EXPECT_NE(info(sharing).at("processes on one GPU").find("no CUDA IPC"), std::string::npos);
  EXPECT_EQ(info(sharing).at("CUDA MPS"), "does not run: processes on one GPU run in turns");
  EXPECT_EQ(info(sharing).at("peer access"), "between all GPUs");
  sharing.mps.reset();
  sharing.without_access = "cuda:0 and cuda:1";
  EXPECT_EQ(info(sharing).at("CUDA MPS"), "unknown: the driver does not tell");
  EXPECT_EQ(info(sharing).at("peer access"), "not between cuda:0 and cuda:1");
}

}  // namespace weft::detail
