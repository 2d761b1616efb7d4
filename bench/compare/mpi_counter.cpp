// Counts the MPI calls and bytes of a process. It is preloaded, intercepts calls with the profiling
// interface of MPI, and the program reads its two counters.
//
// A call is anything that makes this rank communicate: a send, a collective, a barrier, a new
// communicator. Receives are not counted, since each has its send. Bytes are those in the send
// buffer of a rank. Calls on a communicator of one rank do not count.

#include <mpi.h>

namespace {
long long calls = 0;
long long bytes = 0;

int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

void count(MPI_Comm comm, long long elements, MPI_Datatype type) {
  if (size_of(comm) < 2) return;
  int size = 0;
  if (elements > 0) PMPI_Type_size(type, &size);
  ++calls;
  bytes += elements * size;
}

long long sum(MPI_Comm comm, const int* counts) {
  long long total = 0;
  for (int i = 0; i < size_of(comm); ++i) total += counts[i];
  return total;
}
}  // namespace

extern "C" {

void weft_mpi_counter_read(long long* calls_so_far, long long* bytes_so_far) {
  *calls_so_far = calls;
  *bytes_so_far = bytes;
}

// Wraps one function: its parameters, its arguments, and what it counts.
#define WRAP(name, parameters, arguments, comm, elements, type) \
  int MPI_##name parameters {                                   \
    count(comm, elements, type);                                \
    return PMPI_##name arguments;                               \
  }

#define BUFFER const void *in, int n, MPI_Datatype type
#define OUTPUT void *out, int m, MPI_Datatype received
#define REQUEST , MPI_Request* request

WRAP(Send, (BUFFER, int to, int tag, MPI_Comm comm), (in, n, type, to, tag, comm), comm, n, type)
WRAP(Ssend, (BUFFER, int to, int tag, MPI_Comm comm), (in, n, type, to, tag, comm), comm, n, type)
WRAP(Isend, (BUFFER, int to, int tag, MPI_Comm comm REQUEST), (in, n, type, to, tag, comm, request),
     comm, n, type)
WRAP(Sendrecv,
     (BUFFER, int to, int tag, OUTPUT, int from, int from_tag, MPI_Comm comm, MPI_Status* status),
     (in, n, type, to, tag, out, m, received, from, from_tag, comm, status), comm, n, type)
// Persistent sends count when they are created, not when they are started: only PETSc uses them in
// timed loops, and its calls are not compared.
WRAP(Send_init, (BUFFER, int to, int tag, MPI_Comm comm REQUEST),
     (in, n, type, to, tag, comm, request), comm, n, type)

WRAP(Barrier, (MPI_Comm comm), (comm), comm, 0, MPI_BYTE)
WRAP(Ibarrier, (MPI_Comm comm REQUEST), (comm, request), comm, 0, MPI_BYTE)
WRAP(Bcast, (void* in, int n, MPI_Datatype type, int root, MPI_Comm comm),
     (in, n, type, root, comm), comm, n, type)
WRAP(Ibcast, (void* in, int n, MPI_Datatype type, int root, MPI_Comm comm REQUEST),
     (in, n, type, root, comm, request), comm, n, type)

#define REDUCTION const void *in, void *out, int n, MPI_Datatype type, MPI_Op op
WRAP(Allreduce, (REDUCTION, MPI_Comm comm), (in, out, n, type, op, comm), comm, n, type)
WRAP(Iallreduce, (REDUCTION, MPI_Comm comm REQUEST), (in, out, n, type, op, comm, request), comm, n,
     type)
WRAP(Reduce, (REDUCTION, int root, MPI_Comm comm), (in, out, n, type, op, root, comm), comm, n,
     type)
WRAP(Ireduce, (REDUCTION, int root, MPI_Comm comm REQUEST),
     (in, out, n, type, op, root, comm, request), comm, n, type)
WRAP(Reduce_scatter_block, (REDUCTION, MPI_Comm comm), (in, out, n, type, op, comm), comm,
     static_cast<long long>(n) * size_of(comm), type)
WRAP(Ireduce_scatter_block, (REDUCTION, MPI_Comm comm REQUEST),
     (in, out, n, type, op, comm, request), comm, static_cast<long long>(n) * size_of(comm), type)
WRAP(Reduce_scatter,
     (const void* in, void* out, const int n[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, n, type, op, comm), comm, sum(comm, n), type)
WRAP(Ireduce_scatter,
     (const void* in, void* out, const int n[], MPI_Datatype type, MPI_Op op,
      MPI_Comm comm REQUEST),
     (in, out, n, type, op, comm, request), comm, sum(comm, n), type)

WRAP(Allgather, (BUFFER, OUTPUT, MPI_Comm comm), (in, n, type, out, m, received, comm), comm,
     in == MPI_IN_PLACE ? m : n, in == MPI_IN_PLACE ? received : type)
WRAP(Iallgather, (BUFFER, OUTPUT, MPI_Comm comm REQUEST),
     (in, n, type, out, m, received, comm, request), comm, in == MPI_IN_PLACE ? m : n,
     in == MPI_IN_PLACE ? received : type)
#define PARTS void *out, const int m[], const int at[], MPI_Datatype received
WRAP(Allgatherv, (BUFFER, PARTS, MPI_Comm comm), (in, n, type, out, m, at, received, comm), comm, n,
     type)
WRAP(Iallgatherv, (BUFFER, PARTS, MPI_Comm comm REQUEST),
     (in, n, type, out, m, at, received, comm, request), comm, n, type)
WRAP(Gather, (BUFFER, OUTPUT, int root, MPI_Comm comm), (in, n, type, out, m, received, root, comm),
     comm, n, type)
WRAP(Gatherv, (BUFFER, PARTS, int root, MPI_Comm comm),
     (in, n, type, out, m, at, received, root, comm), comm, n, type)
WRAP(Igatherv, (BUFFER, PARTS, int root, MPI_Comm comm REQUEST),
     (in, n, type, out, m, at, received, root, comm, request), comm, n, type)
// Only the root has a send buffer; the receive buffers of the others count in its place.
WRAP(Scatter, (BUFFER, OUTPUT, int root, MPI_Comm comm),
     (in, n, type, out, m, received, root, comm), comm, m, received)
#define SPREAD const void *in, const int n[], const int from[], MPI_Datatype type
WRAP(Scatterv, (SPREAD, OUTPUT, int root, MPI_Comm comm),
     (in, n, from, type, out, m, received, root, comm), comm, m, received)
WRAP(Iscatterv, (SPREAD, OUTPUT, int root, MPI_Comm comm REQUEST),
     (in, n, from, type, out, m, received, root, comm, request), comm, m, received)

WRAP(Alltoall, (BUFFER, OUTPUT, MPI_Comm comm), (in, n, type, out, m, received, comm), comm,
     static_cast<long long>(n) * size_of(comm), type)
WRAP(Alltoallv, (SPREAD, PARTS, MPI_Comm comm), (in, n, from, type, out, m, at, received, comm),
     comm, in == MPI_IN_PLACE ? sum(comm, m) : sum(comm, n), in == MPI_IN_PLACE ? received : type)
WRAP(Ialltoallv, (SPREAD, PARTS, MPI_Comm comm REQUEST),
     (in, n, from, type, out, m, at, received, comm, request), comm,
     in == MPI_IN_PLACE ? sum(comm, m) : sum(comm, n), in == MPI_IN_PLACE ? received : type)
int MPI_Alltoallw(const void* in, const int n[], const int from[], const MPI_Datatype types[],
                  void* out, const int m[], const int at[], const MPI_Datatype received[],
                  MPI_Comm comm) {
  count(comm, 0, MPI_BYTE);
  if (size_of(comm) > 1) {
    for (int i = 0; i < size_of(comm); ++i) {
      int size = 0;
      PMPI_Type_size(types[i], &size);
      bytes += static_cast<long long>(size) * n[i];
    }
  }
  return PMPI_Alltoallw(in, n, from, types, out, m, at, received, comm);
}

WRAP(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* part), (comm, color, key, part),
     comm, 0, MPI_BYTE)
WRAP(Comm_dup, (MPI_Comm comm, MPI_Comm* other), (comm, other), comm, 0, MPI_BYTE)

}  // extern "C"
