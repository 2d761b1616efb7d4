#pragma once

// Solvers.

#include <weft/solve/cg.hpp>
#include <weft/solve/cgls.hpp>
#include <weft/solve/checkpoint.hpp>
#include <weft/solve/inversion.hpp>
#include <weft/solve/ista.hpp>
#include <weft/solve/lsqr.hpp>
#include <weft/solve/power_iteration.hpp>
#include <weft/solve/solver.hpp>
#include <weft/solve/threshold.hpp>
#include <weft/solve/total_variation.hpp>
