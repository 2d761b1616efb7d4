#include "comm/support/conformance.hpp"

#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace weft::test {

// Messages

TEST(ConformanceMessages, go_around_a_ring) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    for (const DType dtype : all_dtypes) {
      for (const index_t count : {0, 1, 62, 63, 20'000}) {
        const Numbers mine = values(dtype, comm.rank(), count);
        Numbers theirs(dtype, count);
        comm.sendrecv(mine.memory(), next, theirs.memory(), previous);
        EXPECT_TRUE(same(theirs, values(dtype, previous, count)));
      }
    }
  });
}

TEST(ConformanceMessages, may_differ_in_size_between_pairs) {
  on_ranks([](Comm comm) {
    // Every rank sends a message to every rank, including itself.
    const auto length = [](int from, int to) { return from * 37 + to * 101; };
    std::vector<Numbers> out;
    std::vector<Numbers> in;
    std::vector<Request> requests;
    for (int peer = 0; peer < comm.size(); ++peer) {
      out.push_back(values(DType::f32, comm.rank() * 10 + peer, length(comm.rank(), peer)));
      in.emplace_back(DType::f32, length(peer, comm.rank()));
    }
    for (int peer = 0; peer < comm.size(); ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      requests.push_back(comm.start_send(out[at].memory(), peer));
      requests.push_back(comm.start_recv(in[at].memory(), peer));
    }
    for (Request& request : requests) request.wait();
    for (int peer = 0; peer < comm.size(); ++peer) {
      EXPECT_TRUE(same(in[static_cast<std::size_t>(peer)],
                       values(DType::f32, peer * 10 + comm.rank(), length(peer, comm.rank()))));
    }
  });
}

TEST(ConformanceMessages, can_be_sent_to_the_same_rank) {
  on_ranks([](Comm comm) {
    const std::vector<int> out = {1, 2, comm.rank()};
    std::vector<int> in(3);
    comm.sendrecv(out, comm.rank(), in, comm.rank());
    EXPECT_EQ(in, out);

    std::vector<int> again(3);
    Request sending = comm.start_send(out, comm.rank());
    comm.recv(again, comm.rank());
    sending.wait();
    EXPECT_EQ(again, out);

    std::vector<int> last(3);
    Request receiving = comm.start_recv(last, comm.rank());
    EXPECT_FALSE(receiving.test());
    comm.send(out, comm.rank());
    receiving.wait();
    EXPECT_EQ(last, out);
  });
}

TEST(ConformanceMessages, keep_their_order) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    constexpr int messages = 50;
    std::vector<std::vector<int>> out;
    std::vector<std::vector<int>> in;
    for (int i = 0; i < messages; ++i) {
      const auto length = static_cast<std::size_t>(i % 5 * 40);
      out.emplace_back(length, comm.rank() * 1000 + i);
      in.emplace_back(length, -1);
    }
    std::vector<Request> requests;
    for (auto& each : out) requests.push_back(comm.start_send(each, next));
    for (auto& each : in) requests.push_back(comm.start_recv(each, previous));
    for (auto request = requests.rbegin(); request != requests.rend(); ++request) request->wait();
    for (int i = 0; i < messages; ++i) {
      for (const int seen : in[static_cast<std::size_t>(i)]) {
        EXPECT_EQ(seen, previous * 1000 + i);
      }
    }
  });
}

TEST(ConformanceMessages, do_not_mix) {
  on_ranks([](Comm comm) {
    // Many blocking calls: a token that travels around the ring and grows.
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    if (comm.size() == 1) return;
    std::vector<std::int64_t> token = {0};
    for (int round = 0; round < 200; ++round) {
      if (comm.rank() == 0) {
        comm.send(token, next);
        comm.recv(token, previous);
        EXPECT_EQ(token[0], (round + 1) * (comm.size() - 1));
      } else {
        comm.recv(token, previous);
        ++token[0];
        comm.send(token, next);
      }
    }
  });
}

TEST(ConformanceMessages, of_a_batch_are_exchanged_each_time_it_runs) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<double> to_next(700);
    std::vector<double> to_previous(3);
    std::vector<double> from_next(3);
    std::vector<double> from_previous(700);
    std::vector<double> nothing;
    MessageBatch batch(comm);
    batch.send(to_next, next).send(nothing, next).send(to_previous, previous);
    // With two ranks both neighbours are the same; messages match in the order they were added.
    batch.recv(from_previous, previous).recv(nothing, previous).recv(from_next, next);
    for (int round = 0; round < 10; ++round) {
      to_next.assign(700, comm.rank() + 0.5 * round);
      to_previous.assign(3, -comm.rank() - 0.25 * round);
      if (round % 2 == 0) {
        batch.run();
      } else {
        batch.start();
        expect_works(comm);
        batch.finish();
      }
      EXPECT_EQ(from_previous, std::vector<double>(700, previous + 0.5 * round));
      EXPECT_EQ(from_next, std::vector<double>(3, -next - 0.25 * round));
    }
    EXPECT_THROW(batch.send(to_next, comm.size()), ArgumentError);
    EXPECT_THROW(batch.recv(to_next, -1), ArgumentError);
    EXPECT_THROW(batch.send(ConstBufferRef(to_next.data(), -1), next), ArgumentError);
    EXPECT_THROW(batch.recv(BufferRef(to_next.data(), -1), next), ArgumentError);
    EXPECT_THROW(batch.redirect_send(3, to_next.data()), ArgumentError);
    batch.run();  // none of these was added
  });
}

TEST(ConformanceMessages, of_a_batch_cannot_be_started_twice) {
  on_ranks([](Comm comm) {
    std::vector<int> out = {comm.rank()};
    std::vector<int> in(1);
    MessageBatch batch(comm);
    batch.send(out, comm.rank()).recv(in, comm.rank());
    batch.start();
    EXPECT_THROW(batch.start(), ArgumentError);
    batch.finish();
    EXPECT_EQ(in, out);
    MessageBatch empty(comm);
    empty.run();
  });
}

// Requests

TEST(ConformanceRequests, of_many_calls_are_in_progress) {
  on_ranks([](Comm comm) {
    for (const bool reverse : {false, true}) {
      std::vector<Numbers> in;
      std::vector<Numbers> out;
      std::vector<Request> requests;
      constexpr int calls = 21;
      const auto count = [](int call) { return call % 3 == 0 ? 5 : call * 100; };
      for (int call = 0; call < calls; ++call) {
        in.push_back(values(DType::f64, comm.rank() + call, count(call)));
        out.emplace_back(DType::f64, count(call));
      }
      for (int call = 0; call < calls; ++call) {
        const auto at = static_cast<std::size_t>(call);
        requests.push_back(comm.start_allreduce(in[at].memory(), out[at].memory()));
      }
      if (reverse) std::reverse(requests.begin(), requests.end());
      for (Request& request : requests) request.wait();
      for (int call = 0; call < calls; ++call) {
        const Numbers expected(DType::f64, count(call), [&](index_t i) {
          Number sum;
          for (int rank = 0; rank < comm.size(); ++rank) {
            sum = combine(ReduceOp::sum, sum, value(DType::f64, rank + call, i));
          }
          return sum;
        });
        EXPECT_TRUE(same(out[static_cast<std::size_t>(call)], expected));
      }
    }
  });
}

namespace {

/// One call of each kind, all in progress at the same time.
class EverythingAtOnce {
 public:
  EverythingAtOnce(Comm comm, index_t count)
      : comm_(std::move(comm)),
        root_(comm_.size() - 1),
        next_((comm_.rank() + 1) % comm_.size()),
        previous_((comm_.rank() + comm_.size() - 1) % comm_.size()),
        count_(count),
        parts_(std::vector<index_t>(static_cast<std::size_t>(comm_.size()), count)),
        mine_(values(DType::f64, comm_.rank(), count)),
        whole_(values(DType::f64, comm_.rank(), count * comm_.size())) {}

  std::vector<Request> start() {
    const index_t all = count_ * comm_.size();
    const bool here = comm_.rank() == root_;
    out_.clear();
    out_.reserve(8);
    std::vector<Request> requests;
    // NCCL runs the calls of a communicator in their order: there, a receive that comes before a
    // collective must not wait for a send that comes after it.
    const bool in_order =
        message_device().kind == DeviceKind::cuda && comm_.route(message_device()).name == "nccl";
    const BufferRef received = room(count_);
    if (!in_order) requests.push_back(comm_.start_recv(received, previous_));
    requests.push_back(comm_.start_barrier());
    out_.push_back(mine_);
    requests.push_back(comm_.start_broadcast(out_.back().memory(), root_));
    requests.push_back(comm_.start_allreduce(mine_.memory(), room(count_)));
    requests.push_back(comm_.start_reduce(mine_.memory(), room(count_), ReduceOp::max, root_));
    requests.push_back(comm_.start_reduce_scatter_v(whole_.memory(), parts_, room(count_)));
    requests.push_back(comm_.start_all_gather_v(mine_.memory(), room(all), parts_));
    if (in_order) requests.push_back(comm_.start_recv(received, previous_));
    requests.push_back(comm_.start_send(mine_.memory(), next_));
    requests.push_back(comm_.start_gather_v(mine_.memory(), room(here ? all : 0), parts_, root_));
    requests.push_back(comm_.start_scatter_v(whole_.memory(), parts_, room(count_), root_));
    Numbers& exchanged = exchanged_.emplace_back(DType::f64, all);
    requests.push_back(
        comm_.start_all_to_all_v(whole_.memory(), parts_, exchanged.memory(), parts_));
    return requests;
  }

  void check() const {
    const int size = comm_.size();
    const bool here = comm_.rank() == root_;
    const index_t first = comm_.rank() * count_;
    const auto gathered = arranged(DType::f64, count_ * size, parts_,
                                   [&](int rank, index_t i) { return value(DType::f64, rank, i); });
    const Numbers sums = reduced(ReduceOp::sum, DType::f64, size, count_ * size);
    EXPECT_TRUE(same(out_[0], values(DType::f64, previous_, count_)));
    EXPECT_TRUE(same(out_[1], values(DType::f64, root_, count_)));
    EXPECT_TRUE(same(out_[2], reduced(ReduceOp::sum, DType::f64, size, count_)));
    EXPECT_TRUE(same(out_[3], here ? reduced(ReduceOp::max, DType::f64, size, count_)
                                   : Numbers(DType::f64, count_)));
    EXPECT_TRUE(
        same(out_[4], Numbers(DType::f64, count_, [&](index_t i) { return sums[first + i]; })));
    EXPECT_TRUE(same(out_[5], gathered));
    EXPECT_TRUE(same(out_[6], here ? gathered : Numbers(DType::f64, 0)));
    EXPECT_TRUE(same(out_[7], Numbers(DType::f64, count_, [&](index_t i) {
                       return value(DType::f64, root_, first + i);
                     })));
    EXPECT_TRUE(same(exchanged_.back(),
                     arranged(DType::f64, count_ * size, parts_, [&](int rank, index_t i) {
                       return value(DType::f64, rank, first + i);
                     })));
  }

 private:
  BufferRef room(index_t count) { return out_.emplace_back(DType::f64, count).memory(); }

  Comm comm_;
  int root_;
  int next_;
  int previous_;
  index_t count_;
  Parts parts_;
  Numbers mine_;
  Numbers whole_;
  std::vector<Numbers> out_;
  std::vector<Numbers> exchanged_;
};

}  // namespace

TEST(ConformanceRequests, of_all_kinds_are_in_progress_together) {
  on_ranks([](Comm comm) {
    for (const index_t count : {0, 1, 20, 3000}) {
      EverythingAtOnce calls(comm, count);
      for (Request& request : calls.start()) request.wait();
      calls.check();

      std::vector<Request> requests = calls.start();
      std::reverse(requests.begin(), requests.end());
      for (Request& request : requests) request.wait();
      calls.check();
    }
  });
}

TEST(ConformanceRequests, can_be_tested_until_they_are_complete) {
  on_ranks([](Comm comm) {
    EverythingAtOnce calls(comm, 500);
    std::vector<Request> requests = calls.start();
    bool complete = false;
    while (!complete) {
      complete = true;
      for (Request& request : requests) complete = request.test() && complete;
      if (!complete) std::this_thread::yield();
    }
    calls.check();
    for (Request& request : requests) request.wait();
  });
}

TEST(ConformanceRequests, wait_when_destroyed) {
  on_ranks([](Comm comm) {
    EverythingAtOnce calls(comm, 500);
    calls.start().clear();
    calls.check();
  });
}

TEST(ConformanceRequests, deliver_complete_calls_when_an_exception_destroys_them) {
  on_ranks([](Comm comm) {
    const auto out = on_debug(std::vector<int>(3, comm.rank()));
    auto in = on_debug(std::vector<int>(3, -1));
    auto last = on_debug(std::vector<int>(3, -1));
    try {
      const Request first = comm.start_recv(in, comm.rank());
      Request second = comm.start_recv(last, comm.rank());
      comm.send(out, comm.rank());
      comm.send(out, comm.rank());
      second.wait();  // messages keep their order, so the first is complete, too
      throw std::runtime_error("an error of the program");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(on_host(in), std::vector<int>(3, comm.rank()));
    expect_works(comm);
  });
}

TEST(ConformanceRequests, of_a_destructor_wait_while_an_exception_propagates) {
  struct ReduceAtEnd {
    ~ReduceAtEnd() {
      if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const Request request = comm.start_allreduce(in, out);
    }
    const Comm& comm;
    const std::vector<int>& in;
    std::vector<int>& out;
  };
  on_ranks([](Comm comm) {
    const std::vector<int> in(5000, 1);
    std::vector<int> out(5000);
    try {
      const ReduceAtEnd guard{comm, in, out};
      throw std::runtime_error("an error of the program");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(out, std::vector<int>(5000, comm.size()));
    expect_works(comm);
  });
}

TEST(ConformanceRequests, can_be_moved_and_replaced) {
  on_ranks([](Comm comm) {
    Request none;
    EXPECT_TRUE(none.test());
    none.wait();
    const std::vector<int> in(1000, 1);
    std::vector<int> first(1000);
    std::vector<int> second(1000);
    Request request = comm.start_allreduce(in, first);
    request = comm.start_allreduce(in, second);
    EXPECT_EQ(first, std::vector<int>(1000, comm.size()));
    Request moved = std::move(request);
    moved.wait();
    EXPECT_EQ(second, std::vector<int>(1000, comm.size()));
  });
}

TEST(ConformanceRequests, mix_with_blocking_calls) {
  on_ranks([](Comm comm) {
    const std::vector<double> in(5000, comm.rank() + 1.0);
    const double total = comm.size() * (comm.size() + 1) / 2.0;
    for (int round = 0; round < 20; ++round) {
      std::vector<double> large(5000);
      std::vector<double> small(2);
      Request one = comm.start_allreduce(in, large);
      Request two = comm.start_allreduce(std::span(in).first(2), small);
      expect_works(comm);
      std::vector<double> blocking(5000);
      comm.allreduce(in, blocking);
      comm.barrier();
      two.wait();
      one.wait();
      EXPECT_EQ(large, std::vector<double>(5000, total));
      EXPECT_EQ(small, std::vector<double>(2, total));
      EXPECT_EQ(blocking, large);
    }
  });
}

}  // namespace weft::test
