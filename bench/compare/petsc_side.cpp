// Conjugate gradients in PETSc on the 3-D Laplacian with zeros beyond the grid, as a stored matrix
// (AIJ) and as a function (shell). Reads and writes the same files as weft_side, for the problems
// "petsc_aij" and "petsc_shell".

#include <petscdmda.h>
#include <petscksp.h>

#include <nlohmann/json.hpp>

#include "noise.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using nlohmann::json;

namespace {

void check(PetscErrorCode code, const char* call) {
  if (code != 0) throw std::runtime_error(std::string(call) + " failed");
}
#define CHECK(call) check(call, #call)

/// The grid [n0, n1, n2] is distributed along its first axis, as in Weft. PETSc numbers axes in
/// reverse: its x is the last axis.
struct Grid {
  DM dm = nullptr;
  PetscInt n[3];

  explicit Grid(const std::vector<PetscInt>& shape) : n{shape[0], shape[1], shape[2]} {
    PetscMPIInt size = 0;
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    CHECK(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                       DMDA_STENCIL_STAR, n[2], n[1], n[0], 1, 1, size, 1, 1, nullptr, nullptr,
                       nullptr, &dm));
    CHECK(DMSetUp(dm));
  }
  ~Grid() { DMDestroy(&dm); }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
};

Mat stored(const Grid& grid) {
  Mat a = nullptr;
  CHECK(DMSetMatType(grid.dm, MATAIJ));
  CHECK(DMCreateMatrix(grid.dm, &a));
  DMDALocalInfo part;
  CHECK(DMDAGetLocalInfo(grid.dm, &part));
  for (PetscInt k = part.zs; k < part.zs + part.zm; ++k) {
    for (PetscInt j = part.ys; j < part.ys + part.ym; ++j) {
      for (PetscInt i = part.xs; i < part.xs + part.xm; ++i) {
        MatStencil row{};
        row.i = i;
        row.j = j;
        row.k = k;
        std::vector<MatStencil> columns;
        std::vector<PetscScalar> values;
        const auto add = [&](PetscInt di, PetscInt dj, PetscInt dk, double value) {
          const bool inside = i + di >= 0 && i + di < part.mx && j + dj >= 0 && j + dj < part.my &&
                              k + dk >= 0 && k + dk < part.mz;
          if (!inside) return;
          MatStencil column{};
          column.i = i + di;
          column.j = j + dj;
          column.k = k + dk;
          columns.push_back(column);
          values.push_back(value);
        };
        add(0, 0, 0, 6);
        for (const PetscInt d : {-1, 1}) {
          add(d, 0, 0, -1);
          add(0, d, 0, -1);
          add(0, 0, d, -1);
        }
        CHECK(MatSetValuesStencil(a, 1, &row, static_cast<PetscInt>(columns.size()), columns.data(),
                                  values.data(), INSERT_VALUES));
      }
    }
  }
  CHECK(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  CHECK(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  return a;
}

/// The state of the shell: the local part with ghost planes, zero beyond the grid.
struct Shell {
  DM dm;
  Vec ghosted;
  std::vector<double> zeros;
};

void apply_row(PetscInt n, const double* here, const double* above, const double* below,
               const double* before, const double* after, double* __restrict out) {
  out[0] = 6 * here[0] - above[0] - below[0] - before[0] - after[0] - here[1];
  for (PetscInt k = 1; k + 1 < n; ++k) {
    out[k] = 6 * here[k] - above[k] - below[k] - before[k] - after[k] - here[k - 1] - here[k + 1];
  }
  out[n - 1] =
      6 * here[n - 1] - above[n - 1] - below[n - 1] - before[n - 1] - after[n - 1] - here[n - 2];
}

PetscErrorCode apply_shell(Mat a, Vec x, Vec y) {
  Shell* shell = nullptr;
  CHECK(MatShellGetContext(a, &shell));
  DMDALocalInfo part;
  CHECK(DMDAGetLocalInfo(shell->dm, &part));
  const double* in = nullptr;
  // One rank has no ghosts and needs no copy.
  const bool alone = part.zm == part.mz;
  if (!alone) {
    CHECK(DMGlobalToLocalBegin(shell->dm, x, INSERT_VALUES, shell->ghosted));
    CHECK(DMGlobalToLocalEnd(shell->dm, x, INSERT_VALUES, shell->ghosted));
  }
  CHECK(VecGetArrayRead(alone ? x : shell->ghosted, &in));
  double* out = nullptr;
  CHECK(VecGetArrayWrite(y, &out));
  const PetscInt plane = part.ym * part.xm;
  const PetscInt first = alone ? 0 : part.gzs;
  for (PetscInt k = part.zs; k < part.zs + part.zm; ++k) {
    for (PetscInt j = 0; j < part.ym; ++j) {
      const double* here = in + (k - first) * plane + j * part.xm;
      const double* zero = shell->zeros.data();
      apply_row(part.xm, here, k > 0 ? here - plane : zero, k + 1 < part.mz ? here + plane : zero,
                j > 0 ? here - part.xm : zero, j + 1 < part.ym ? here + part.xm : zero,
                out + (k - part.zs) * plane + j * part.xm);
    }
  }
  CHECK(VecRestoreArrayWrite(y, &out));
  CHECK(VecRestoreArrayRead(alone ? x : shell->ghosted, &in));
  return 0;
}

double elapsed(KSP solver, Vec y, Vec x) {
  CHECK(VecSet(x, 0));
  MPI_Barrier(PETSC_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  CHECK(KSPSolve(solver, y, x));
  const std::chrono::duration<double> mine = std::chrono::steady_clock::now() - start;
  double slowest = mine.count();
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  return slowest;
}

/// Elements are in the order of the file, since only the first axis is distributed.
void write_answer(const std::string& path, const Grid& grid, Vec x) {
  PetscMPIInt rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  VecScatter scatter = nullptr;
  Vec all = nullptr;
  CHECK(VecScatterCreateToZero(x, &scatter, &all));
  CHECK(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  CHECK(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
  if (rank == 0) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                         std::to_string(grid.n[0]) + ", " + std::to_string(grid.n[1]) + ", " +
                         std::to_string(grid.n[2]) + "), }";
    header.resize((header.size() + 10 + 64) / 64 * 64 - 10 - 1, ' ');
    header += '\n';
    const auto length = static_cast<std::uint16_t>(header.size());
    std::ofstream file(path, std::ios::binary);
    file.write("\x93NUMPY\x01\x00", 8);
    file.write(reinterpret_cast<const char*>(&length), 2);
    file << header;
    const double* values = nullptr;
    CHECK(VecGetArrayRead(all, &values));
    file.write(reinterpret_cast<const char*>(values),
               static_cast<std::streamsize>(sizeof(double)) * grid.n[0] * grid.n[1] * grid.n[2]);
    CHECK(VecRestoreArrayRead(all, &values));
  }
  VecScatterDestroy(&scatter);
  VecDestroy(&all);
}

json run(const json& job, const json& options) {
  const Grid grid(options.at("shape").get<std::vector<PetscInt>>());
  const auto steps = options.at("steps").get<PetscInt>();
  Vec x = nullptr;
  Vec y = nullptr;
  CHECK(DMCreateGlobalVector(grid.dm, &x));
  CHECK(VecDuplicate(x, &y));
  PetscInt first = 0;
  PetscInt last = 0;
  CHECK(VecGetOwnershipRange(y, &first, &last));
  double* values = nullptr;
  CHECK(VecGetArrayWrite(y, &values));
  for (PetscInt i = first; i < last; ++i) {
    values[i - first] = compare::noise(static_cast<std::uint64_t>(i), 1);
  }
  CHECK(VecRestoreArrayWrite(y, &values));

  Shell shell{grid.dm, nullptr,
              std::vector<double>(static_cast<std::size_t>(grid.n[1] * grid.n[2]))};
  Mat a = nullptr;
  if (options.at("problem") == "petsc_aij") {
    a = stored(grid);
  } else {
    CHECK(DMCreateLocalVector(grid.dm, &shell.ghosted));
    CHECK(MatCreateShell(PETSC_COMM_WORLD, last - first, last - first, PETSC_DETERMINE,
                         PETSC_DETERMINE, &shell, &a));
    CHECK(MatShellSetOperation(a, MATOP_MULT, reinterpret_cast<void (*)()>(apply_shell)));
  }
  KSP solver = nullptr;
  PC none = nullptr;
  CHECK(KSPCreate(PETSC_COMM_WORLD, &solver));
  CHECK(KSPSetOperators(solver, a, a));
  CHECK(KSPSetType(solver, KSPCG));
  CHECK(KSPGetPC(solver, &none));
  CHECK(PCSetType(none, PCNONE));
  // The norm without extra cost, and a tolerance that is never reached.
  CHECK(KSPSetNormType(solver, KSP_NORM_NATURAL));
  CHECK(KSPSetTolerances(solver, 1e-50, 1e-50, PETSC_DEFAULT, steps));
  CHECK(KSPSetUp(solver));

  elapsed(solver, y, x);
  std::vector<double> seconds;
  for (int i = 0; i < job.value("loops", 3); ++i) {
    seconds.push_back(elapsed(solver, y, x) / static_cast<double>(steps));
  }
  PetscInt iterations = 0;
  CHECK(KSPGetIterationNumber(solver, &iterations));
  if (iterations != steps) throw std::runtime_error("petsc_side: stopped before the last step");
  const std::string answers = job.value("answers", "");
  if (!answers.empty()) {
    write_answer(answers + "/" + options.at("id").get<std::string>() + ".npy", grid, x);
  }
  KSPDestroy(&solver);
  MatDestroy(&a);
  VecDestroy(&shell.ghosted);
  VecDestroy(&x);
  VecDestroy(&y);
  return {{"seconds", seconds}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: petsc_side JOB.json RESULTS.json\n");
    return 2;
  }
  if (PetscInitialize(nullptr, nullptr, nullptr, nullptr) != 0) return 1;
  try {
    const json job = json::parse(std::ifstream(argv[1]));
    json results = json::object();
    for (const json& each : job.at("cases")) {
      results[each.at("id").get<std::string>()] = run(job, each);
    }
    PetscMPIInt rank = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    if (rank == 0) std::ofstream(argv[2]) << results.dump(1) << '\n';
  } catch (const std::exception& error) {
    std::fprintf(stderr, "petsc_side: %s\n", error.what());
    MPI_Abort(PETSC_COMM_WORLD, 1);
  }
  return PetscFinalize() == 0 ? 0 : 1;
}
