// What the fake libcuda.so.1 of this folder exports besides the driver's own functions. It is a
// real library: put its folder on LD_LIBRARY_PATH. Other fakes and tests find these by dlsym() in
// RTLD_DEFAULT or a dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), or link the library.
//
// GPU memory lies in memfds: unreadable at the address that the driver gives out, so that host code
// that follows it dies, and readable at fake_cuda_host_pointer(). A dma-buf is a duplicate of the
// memfd. Streams do their work in order in a thread each; kernels are C++ functions, found by name.
//
// What it pretends to be is read from the environment with the first call and by fake_cuda_reset():
//   FAKE_CUDA_DEVICES=N              0 to 8, default 2; 0: cuInit says CUDA_ERROR_NO_DEVICE
//   FAKE_CUDA_PCI=A,B                their PCI addresses, default 0000:1b:00.0, 0000:43:00.0, ...
//   FAKE_CUDA_DRIVER=12080           its version; older ones have no dma-buf (before 11070), no
//                                    PCIe mapping (before 12080), no context flags (before 12010)
//   FAKE_CUDA_INIT=R                 cuInit gives this CUresult
//   FAKE_CUDA_MEMORY=BYTES           of a device, default 1 GiB
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
//   FAKE_CUDA_SLOW_US=N              every piece of work takes that much longer
//   FAKE_CUDA_STUCK=N                the Nth piece of work of every stream (from 1) never ends,
//                                    until fake_cuda_unstick() or a reset
#pragma once

extern "C" {

/// Where host code reads and writes the bytes at a GPU address; null for one that is not mapped.
void* fake_cuda_host_pointer(unsigned long long device_address);

/// The same of the first byte of a dma-buf, and how many there are at least. A copy of the
/// descriptor does as well; the position of its file is the fake's own.
void* fake_cuda_dma_buf_host_pointer(int descriptor, unsigned long long* bytes);

/// Whether the dma-buf that was last given that descriptor is of the PCIe mapping.
int fake_cuda_dma_buf_is_pcie(int descriptor);

/// Calls function(argument) in the stream's thread when its turn comes, or with every launch where
/// the stream is being captured into a graph. 0, or a CUresult.
int fake_cuda_enqueue(void* stream, void (*function)(void*), void* argument);

/// Fails the stream with this CUresult from here on; of function(): ends the work that calls it.
void fake_cuda_fail_stream(void* stream, int result);

/// Frees all that is left, forgets every count and reads the environment again.
void fake_cuda_reset(void);

/// Lets work that FAKE_CUDA_STUCK holds go on.
void fake_cuda_unstick(void);

/// Calls of a function so far, by its symbol's name: "cuMemAlloc_v2".
int fake_cuda_calls(const char* name);

/// What has been made and not freed, of "allocation", "vmm", "reservation", "host", "stream",
/// "event", "graph", "graph_exec", "module", "context".
int fake_cuda_alive(const char* kind);
}
