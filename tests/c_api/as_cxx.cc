// The header of the C interface is one of C++ too.
#include <rdmabench.h>

static_assert(RDMABENCH_UNAVAILABLE == 3);
