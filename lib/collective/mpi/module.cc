// librdmabench-mpi-*.so: collectives by MPI's own non-blocking calls. Source: MPI 3.1, chapter 5.
//
// What MPI lacks is done within the time of the operation: an average is a sum that is then
// divided, and mulsum scales each input first. Types that MPI lacks are sent as bytes or 16-bit
// integers and combined by our own operators.

// MPI has removed its C++ bindings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <cstdio>
#include <vector>

#include "collective/arithmetic.h"
#include "collective/mpi_module.h"
#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::collective {
namespace {

template <class Type, Reduction kReduction>
void combine(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  const auto* const a = static_cast<const typename Type::Bits*>(in);
  auto* const b = static_cast<typename Type::Bits*>(inout);
  for (int i = 0; i < *length; ++i) {
    const typename Type::Value x = Type::load(a[i]);
    const typename Type::Value y = Type::load(b[i]);
    if constexpr (kReduction == Reduction::sum) {
      b[i] = Type::store(x + y);
    } else if constexpr (kReduction == Reduction::prod) {
      b[i] = Type::store(x * y);
    } else {
      b[i] = (kReduction == Reduction::min ? x < y : y < x) ? a[i] : b[i];
    }
  }
}

template <class Type>
std::array<MPI_User_function*, 4> combiners() {
  return {combine<Type, Reduction::sum>, combine<Type, Reduction::prod>,
          combine<Type, Reduction::min>, combine<Type, Reduction::max>};
}

MPI_Datatype mpi_type(DataType type) {
  const std::array<MPI_Datatype, kDataTypes> types = {
      MPI_INT8_T,   MPI_UINT8_T, MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T,
      MPI_UINT16_T, MPI_FLOAT,   MPI_DOUBLE,  MPI_UINT16_T, MPI_UINT8_T, MPI_UINT8_T};
  return types[static_cast<std::size_t>(type)];
}

/// to[i] = change(from[i]), computed in the type's Value. `to` may be `from`.
template <class Change>
void apply(DataType type, const void* from, void* to, std::uint64_t count, Change change) {
  with_type(type, [&](auto arithmetic) {
    using Type = decltype(arithmetic);
    const auto* const in = static_cast<const typename Type::Bits*>(from);
    auto* const out = static_cast<typename Type::Bits*>(to);
    for (std::uint64_t i = 0; i < count; ++i) {
      out[i] = Type::store(static_cast<typename Type::Value>(change(Type::load(in[i]))));
    }
  });
}

int fail(int code, const char* what, char* error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) text[0] = '\0';
  std::snprintf(error, kErrorBytes, "%.60s: %.440s", what, text.data());
  return 1;
}

int refuse(const char* why, char* error) {
  std::snprintf(error, kErrorBytes, "%s", why);
  return 1;
}

/// Keeps the first line and reduces runs of blanks to one space: MPICH pads its columns.
void one_line(char* text) {
  char* end = text;
  for (const char* from = text; *from != '\0' && *from != '\n'; ++from) {
    const bool blank = *from == ' ' || *from == '\t';
    if (blank && end != text && end[-1] == ' ') continue;
    *end++ = blank ? ' ' : *from;
  }
  *end = '\0';
}

class State {
 public:
  static int check(const void* communicator, char* error) {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0)
      return refuse("MPI was finalised in this process: it cannot begin again", error);
    if (!is_initialized()) {
      return communicator == nullptr ? 0
                                     : refuse("a communicator, but MPI was not initialised", error);
    }
    int level = MPI_THREAD_SINGLE;
    int is_main = 0;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    if (level < MPI_THREAD_SERIALIZED && is_main == 0) {
      return refuse(
          "the program initialised MPI for the calls of one thread, and this is another: measure in "
          "that one, or initialise MPI with MPI_THREAD_SERIALIZED",
          error);
    }
    if (communicator == nullptr) return 0;
    const MPI_Comm given = *static_cast<const MPI_Comm*>(communicator);
    if (given == MPI_COMM_NULL) {
      return refuse("the communicator is MPI_COMM_NULL: this rank is not in it", error);
    }
    int inter = 0;
    MPI_Comm_test_inter(given, &inter);
    return inter == 0 ? 0 : refuse("the communicator is an inter-communicator", error);
  }

  int init(const void* communicator, std::uint32_t* rank, std::uint32_t* size, char* error) {
    *this = State();  // of a run that was given up, nothing can be freed
    if (!is_initialized()) {
      int given = 0;
      const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
      if (code != MPI_SUCCESS) return fail(code, "MPI_Init_thread", error);
      finalizes_ = true;
    }
    const int code = MPI_Comm_dup(
        communicator == nullptr ? MPI_COMM_WORLD : *static_cast<const MPI_Comm*>(communicator),
        &all_);
    if (code != MPI_SUCCESS) return fail(code, "MPI_Comm_dup", error);
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    int own_rank = 0;
    MPI_Comm_rank(all_, &own_rank);
    if (split(0, static_cast<std::uint32_t>(own_rank), error) != 0) return 1;
    *rank = static_cast<std::uint32_t>(rank_);
    *size = static_cast<std::uint32_t>(size_);
    int length = 0;
    MPI_Get_library_version(library_.data(), &length);
    one_line(library_.data());
    return 0;
  }

  int split(std::uint32_t color, std::uint32_t key, char* error) {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    const int code = MPI_Comm_split(all_, static_cast<int>(color), static_cast<int>(key), &comm_);
    if (code != MPI_SUCCESS) return fail(code, "MPI_Comm_split", error);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    return 0;
  }

  int finalize(char* error) {
    free_operator();
    for (MPI_Comm* const made : {&comm_, &all_}) {
      if (*made != MPI_COMM_NULL) MPI_Comm_free(made);
    }
    if (!finalizes_) return 0;
    const int code = MPI_Finalize();
    return code == MPI_SUCCESS ? 0 : fail(code, "MPI_Finalize", error);
  }

  int prepare(const MpiCall* call, char* error) {
    free_operator();
    call_ = *call;
    type_ = static_cast<DataType>(call->type);
    mpi_type_ = mpi_type(type_);
    reduction_ = static_cast<Reduction>(call->reduction);
    reduces_ = reduces(static_cast<Operation>(call->operation));
    requests_.clear();
    requests_.reserve(std::size_t{2} * call->slots);
    results_.clear();
    results_.reserve(call->slots);
    scaled_.clear();
    const auto size = static_cast<std::size_t>(size_);
    const auto ints = [&](const std::uint64_t* numbers, std::vector<int>& out) {
      out.clear();
      for (std::size_t i = 0; numbers != nullptr && i < size; ++i) {
        out.push_back(static_cast<int>(numbers[i]));
      }
    };
    ints(call->send_counts, send_counts_);
    ints(call->send_offsets, send_offsets_);
    ints(call->receive_counts, receive_counts_);
    ints(call->receive_offsets, receive_offsets_);
    if (!reduces_) return 0;
    inputs_ = call->count;
    if (operation() == Operation::reduce_scatter) inputs_ *= size;
    if (reduction_ == Reduction::mulsum && call->in_place == 0) {
      scaled_.resize(call->slots * inputs_ * bytes_of(type_));
    }
    return make_operator(error);
  }

  int start(std::uint32_t slot, void* send, void* receive, char* error) {
    if (reduces_ && reduction_ == Reduction::mulsum) send = scaled(slot, send);
    results_.push_back(receive);
    const std::size_t begin = requests_.size();
    requests_.resize(begin + (operation() == Operation::send_receive ? 2 : 1), MPI_REQUEST_NULL);
    const int code = post(send, receive, &requests_[begin]);
    return code == MPI_SUCCESS ? 0 : fail(code, "MPI", error);
  }

  int test(int* done, char* error) {
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), done,
                                 MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS) return fail(code, "MPI_Testall", error);
    if (*done == 0) return 0;
    if (reduces_ && reduction_ == Reduction::avg) average();
    requests_.clear();
    results_.clear();
    return 0;
  }

  const char* library() const { return library_.data(); }

 private:
  static bool is_initialized() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    return initialized != 0;
  }

  Operation operation() const { return static_cast<Operation>(call_.operation); }

  void free_operator() {
    if (own_operator_) MPI_Op_free(&operator_);
    own_operator_ = false;
  }

  int make_operator(char* error) {
    // avg and mulsum are sums, the first.
    const std::size_t at = reduction_ > Reduction::max ? 0 : static_cast<std::size_t>(reduction_);
    if (is_of_c(type_)) {
      const std::array<MPI_Op, 4> all = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
      operator_ = all[at];
      return 0;
    }
    int code = MPI_SUCCESS;
    with_type(type_, [&](auto arithmetic) {
      using Type = decltype(arithmetic);
      code = MPI_Op_create(combiners<Type>()[at], 1, &operator_);
    });
    own_operator_ = code == MPI_SUCCESS;
    return own_operator_ ? 0 : fail(code, "MPI_Op_create", error);
  }

  void* scaled(std::uint32_t slot, void* send) {
    const std::uint32_t by = mulsum_scalar(static_cast<std::uint32_t>(rank_));
    void* to = scaled_.empty() ? send : scaled_.data() + slot * inputs_ * bytes_of(type_);
    apply(type_, send, to, inputs_, [by](auto x) { return x * static_cast<decltype(x)>(by); });
    return to;
  }

  void average() {
    if (operation() == Operation::reduce && !is_root()) return;
    const auto divide = [by = size_](auto x) { return x / static_cast<decltype(x)>(by); };
    for (void* const result : results_) apply(type_, result, result, call_.count, divide);
  }

  bool is_root() const { return static_cast<int>(call_.root) == rank_; }

  int post(void* send, void* receive, MPI_Request* request) {
    const int count = static_cast<int>(call_.count);
    const int root = static_cast<int>(call_.root);
    MPI_Datatype type = mpi_type_;
    const bool in_place = call_.in_place != 0;
    const void* const input = in_place ? MPI_IN_PLACE : send;
    switch (operation()) {
      case Operation::all_reduce:
        return MPI_Iallreduce(input, receive, count, type, operator_, comm_, request);
      case Operation::reduce:
        return MPI_Ireduce(in_place && !is_root() ? receive : input, receive, count, type,
                           operator_, root, comm_, request);
      case Operation::reduce_scatter:
        return MPI_Ireduce_scatter_block(input, receive, count, type, operator_, comm_, request);
      case Operation::broadcast:
        return MPI_Ibcast(is_root() && !in_place ? send : receive, count, type, root, comm_,
                          request);
      case Operation::all_gather:
        return MPI_Iallgather(input, count, type, receive, count, type, comm_, request);
      case Operation::gather:
        return MPI_Igather(in_place && !is_root() ? receive : input, count, type, receive, count,
                           type, root, comm_, request);
      case Operation::scatter:
        return MPI_Iscatter(in_place ? receive : send, count, type,
                            in_place && is_root() ? MPI_IN_PLACE : receive, count, type, root,
                            comm_, request);
      case Operation::all_to_all:
        return MPI_Ialltoall(input, count, type, receive, count, type, comm_, request);
      case Operation::all_to_all_v:
        return MPI_Ialltoallv(send, send_counts_.data(), send_offsets_.data(), type, receive,
                              receive_counts_.data(), receive_offsets_.data(), type, comm_,
                              request);
      case Operation::send_receive: {
        const int to = (rank_ + 1) % size_;
        const int from = (rank_ + size_ - 1) % size_;
        const int code = MPI_Irecv(receive, count, type, from, 0, comm_, request);
        return code != MPI_SUCCESS ? code : MPI_Isend(send, count, type, to, 0, comm_, request + 1);
      }
    }
    return MPI_ERR_OP;
  }

  MPI_Comm all_ = MPI_COMM_NULL;   // of all ranks
  MPI_Comm comm_ = MPI_COMM_NULL;  // of those that do a call together
  bool finalizes_ = false;         // MPI was initialised here
  int rank_ = 0;
  int size_ = 1;
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library_{};
  MpiCall call_{};
  DataType type_{};
  MPI_Datatype mpi_type_ = MPI_DATATYPE_NULL;
  Reduction reduction_{};
  bool reduces_ = false;
  std::uint64_t inputs_ = 0;
  MPI_Op operator_ = MPI_OP_NULL;
  bool own_operator_ = false;
  // Only outstanding requests, never a null one: MPICH 4.0 looks at requests in blocks of 64, takes
  // the last block's kind for all, and ends the process at a collective if that block has none
  // (MPIR_Testall, mpir_request.h:608).
  std::vector<MPI_Request> requests_;
  std::vector<void*> results_;  // of the outstanding operations
  std::vector<std::byte> scaled_;
  std::vector<int> send_counts_;
  std::vector<int> send_offsets_;
  std::vector<int> receive_counts_;
  std::vector<int> receive_offsets_;
};

State& state() {
  static State state;
  return state;
}

}  // namespace
}  // namespace rdmabench::inline v1::collective

extern "C" __attribute__((visibility("default"))) const rdmabench::collective::MpiModule*
rdmabench_mpi_module() {
  using namespace rdmabench::collective;
  static const MpiModule module = {
    .version = kMpiModuleVersion,
#if defined(OPEN_MPI)
    .name = "Open MPI",
#else
    .name = "MPICH",
#endif
    .library = state().library(),
    .check = [](const void* communicator,
                char* error) { return State::check(communicator, error); },
    .init = [](const void* communicator, std::uint32_t* rank, std::uint32_t* size,
               char* error) { return state().init(communicator, rank, size, error); },
    .split = [](std::uint32_t color, std::uint32_t key,
                char* error) { return state().split(color, key, error); },
    .finalize = [](char* error) { return state().finalize(error); },
    .prepare = [](const MpiCall* call, char* error) { return state().prepare(call, error); },
    .start = [](std::uint32_t slot, void* send, void* receive,
                char* error) { return state().start(slot, send, receive, error); },
    .test = [](int* done, char* error) { return state().test(done, error); },
  };
  return &module;
}
