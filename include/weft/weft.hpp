#pragma once

// Everything a program needs.

#include <weft/array.hpp>
#include <weft/comm.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/io/npy.hpp>
#include <weft/io/picture.hpp>
#include <weft/io/replace_file.hpp>
#include <weft/op.hpp>
#include <weft/solve.hpp>
#include <weft/sparse_allreduce.hpp>
