#pragma once

#include "faults/chaos/plan.hpp"
#include "faults/chaos/record.hpp"

namespace weft::chaos {

/// The exit code of a process that calls exit itself.
inline constexpr int exit_code = 7;

/// Runs a plan with launch, on threads or as a rank of an MPI job, and returns its exit code.
int run_plan(const Plan& plan, bool mpi, Record& record);

}  // namespace weft::chaos
