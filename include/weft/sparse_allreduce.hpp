#pragma once

// Allreduce of the largest elements of gradients.

#include <weft/sparse_allreduce/sparse_allreduce.hpp>
