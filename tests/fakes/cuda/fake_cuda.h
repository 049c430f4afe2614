// What the fake libcuda.so.1 of this folder exports besides the driver's own functions. It is a
// real library: put its folder on LD_LIBRARY_PATH. Other fakes and tests find these by dlsym() in
// RTLD_DEFAULT or a dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), or link the library.
//
// GPU memory is in memfds: unreadable at the device pointer, so that host code that dereferences it
// crashes, and readable at fake_cuda_host_pointer(). A dma-buf is a duplicate of the memfd. Each
// stream runs its work in order in its own thread; kernels are C++ functions, found by name.
//
// What it pretends to be is read from the environment with the first call and by fake_cuda_reset():
//   FAKE_CUDA_DEVICES=N              0 to 8, default 2; 0: cuInit says CUDA_ERROR_NO_DEVICE
//   FAKE_CUDA_PCI=A,B                their PCI addresses, default 0000:1b:00.0, 0000:43:00.0, ...
//   FAKE_CUDA_DRIVER=12080           its version; older ones have no dma-buf (before 11070), no
//                                    PCIe mapping (before 12080), no context flags (before 12010)
//   FAKE_CUDA_INIT=R                 cuInit gives this CUresult
//   FAKE_CUDA_NAME=TEXT              of every device, default "Fake GPU"
//   FAKE_CUDA_COMPUTE_MODE=N         default 0; 3: one process at a time, which it does not enforce
//   FAKE_CUDA_ALIGN=BYTES            of cuMemAlloc's addresses, default 65536
//   FAKE_CUDA_DMA_BUF=0              devices have no dma-buf
//   FAKE_CUDA_PCIE=refuse            the PCIe mapping is refused
//   FAKE_CUDA_VMM=0, FAKE_CUDA_VMM_RDMA=0   no VMM, or none that a NIC can reach
//   FAKE_CUDA_RDMA=0                 no GPUDirect RDMA at all (a GeForce)
//   FAKE_CUDA_COHERENT=1             a coherent link to the CPU, as GH200 has
//   FAKE_CUDA_ORDERING=0|100|200     default 200; FAKE_CUDA_FLUSH=BITS, default 1
//   FAKE_CUDA_JIT=R                  cuModuleLoadData gives this CUresult
//   FAKE_CUDA_FAIL=NAME:N:R[,...]    the Nth call (from 1) of the function NAME, as its symbol is
//                                    called, gives R; N 0: every call
//   FAKE_CUDA_SPEND=1                calls take the time that fake_cuda_cost_us() counts
//   FAKE_CUDA_STUCK=N                the Nth piece of work of every stream (from 1) never ends,
//                                    until fake_cuda_unstick() or a reset
#pragma once

extern "C" {

/// Where host code can access the bytes of a GPU address; null if it is not mapped.
void* fake_cuda_host_pointer(unsigned long long device_address);

/// The same for the first byte of a dma-buf, with its size at least. A copy of the descriptor works
/// too; the fake uses the file position itself.
void* fake_cuda_dma_buf_host_pointer(int descriptor, unsigned long long* bytes);

/// Whether the dma-buf last exported with that descriptor number has the PCIe mapping.
int fake_cuda_dma_buf_is_pcie(int descriptor);

/// Calls function(argument) in the stream's thread in order, or at every launch if the stream is
/// being captured. Returns 0, or a CUresult.
int fake_cuda_enqueue(void* stream, void (*function)(void*), void* argument);

/// The same, and calls released(argument) once the work cannot run any more.
int fake_cuda_enqueue_until(void* stream, void (*function)(void*), void* argument,
                            void (*released)(void*));

/// Whether the stream's work is being captured.
int fake_cuda_is_capturing(void* stream);

/// Makes the stream fail with this CUresult from now on. Called from function(): ends its work.
void fake_cuda_fail_stream(void* stream, int result);

/// Frees everything, clears all counts and reads the environment again.
void fake_cuda_reset(void);

/// Releases the work that FAKE_CUDA_STUCK holds.
void fake_cuda_unstick(void);

/// Number of calls of a function so far, by its symbol's name: "cuMemAlloc_v2".
int fake_cuda_calls(const char* name);

/// What the calls so far would take with a real driver, about, by kCosts of world.cc, and for the
/// bytes copied between host and GPU. Not in it: what kernels, operations and copies within the GPU
/// take, and polls of streams, whose number depends on this machine.
long long fake_cuda_cost_us(void);

/// Number of objects not yet freed: "allocation", "vmm", "reservation", "host", "stream",
/// "graph", "graph_exec", "module", "context".
int fake_cuda_alive(const char* kind);
}
