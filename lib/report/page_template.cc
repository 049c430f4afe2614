// web/report.html, as it lies in this program.
//
// The assembler includes the file at once, where a compiler would read 600 KB as an array of
// numbers for seconds. C++ has no #embed yet.
__asm__(
    ".section .rodata\n"
    ".global rdmabench_page_begin\n"
    ".global rdmabench_page_end\n"
    ".hidden rdmabench_page_begin\n"
    ".hidden rdmabench_page_end\n"
    "rdmabench_page_begin:\n"
    ".incbin \"" RDMABENCH_PAGE
    "\"\n"
    "rdmabench_page_end:\n"
    ".byte 0\n"
    ".previous\n");
