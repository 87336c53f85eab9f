/* wavejit: runs AMD GCN machine code on x86-64 CPUs. Public C API.
 *
 * Conventions
 *
 *   Status    Every function that can fail returns a wavejit_status; 0 is success. Details of a failure are in
 *             the error object of the calling thread, see wavejit_last_error(). Output arguments are untouched
 *             on failure.
 *   Handles   wavejit_container, wavejit_module and wavejit_kernel are opaque and reference their parents: a
 *             kernel keeps its module alive, so handles may be destroyed in any order. Destroying NULL does
 *             nothing.
 *   Strings   `const char*` results are NUL-terminated UTF-8, owned by the handle they come from and valid
 *             until it is destroyed, unless a function says otherwise.
 *   Structs   Each struct starts with `size`, which the caller sets to sizeof(the struct); *_default() does.
 *             Later versions only append fields, and zero always means "default", so old binaries keep
 *             working.
 *   Threads   Any function may be called from any thread. Distinct handles may be used at the same time.
 *             Containers and modules are immutable and may be shared freely. A kernel handle holds argument
 *             values: the set functions need exclusive access to the handle, everything else (launch included)
 *             only reads it.
 *   Memory    Guest addresses are host addresses: a pointer passed to a kernel is the pointer that the kernel
 *             dereferences.
 *   Signals   The first launch installs handlers for SIGSEGV, SIGBUS, SIGFPE and one real-time signal
 *             (SIGRTMIN + 7). Faults that did not happen inside guest code go to the handlers that were
 *             installed before.
 *             With WAVEJIT_SIGNALS=off in the environment none are installed: docs/limits.md has what is lost.
 */
#ifndef WAVEJIT_WAVEJIT_H_
#define WAVEJIT_WAVEJIT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WAVEJIT_VERSION_MAJOR 0
#define WAVEJIT_VERSION_MINOR 1
#define WAVEJIT_VERSION_PATCH 0
/* Comparable number: major * 10000 + minor * 100 + patch. */
#define WAVEJIT_VERSION (WAVEJIT_VERSION_MAJOR * 10000 + WAVEJIT_VERSION_MINOR * 100 + WAVEJIT_VERSION_PATCH)

#if defined(WAVEJIT_STATIC) || !defined(__GNUC__)
#define WAVEJIT_API
#else
#define WAVEJIT_API __attribute__((visibility("default")))
#endif

/* Enumerations hold any int, so that a value that this version does not know can be passed and is refused. */
#ifdef __cplusplus
#define WAVEJIT_NOEXCEPT noexcept
/* clang-format off */
#define WAVEJIT_ENUM(name) name : int
/* clang-format on */
extern "C" {
#else
#define WAVEJIT_NOEXCEPT
#define WAVEJIT_ENUM(name) name
#endif

/* ------------------------------------------------------------------------------------------------ status and errors */

typedef enum WAVEJIT_ENUM(wavejit_status) {
  WAVEJIT_OK = 0,
  WAVEJIT_INVALID_ARGUMENT = 1,    /* sizes, handles or argument values that make no sense */
  WAVEJIT_BAD_CODE_OBJECT = 2,     /* malformed ELF, metadata, bundle or compressed container */
  WAVEJIT_NOT_FOUND = 3,           /* no such file, kernel, variable or container entry */
  WAVEJIT_TARGET_MISMATCH = 4,     /* no code object for the wanted target, or an unknown target */
  WAVEJIT_UNSUPPORTED = 5,         /* instruction or feature that wavejit does not execute */
  WAVEJIT_ILLEGAL_INSTRUCTION = 6, /* bytes that no instruction of the target decodes to */
  WAVEJIT_GUEST_FAULT = 7,         /* the kernel accessed memory that is not mapped or not permitted, or did an atomic
                                      operation at a misaligned address */
  WAVEJIT_GUEST_TRAP = 8,          /* the kernel executed s_trap 2 (abort, failed assertion) */
  WAVEJIT_TIMEOUT = 9,             /* the launch ran longer than its time limit, or its waves wait for each other */
  WAVEJIT_OUT_OF_MEMORY = 10,
  WAVEJIT_IO = 11,      /* reading a file failed */
  WAVEJIT_INTERNAL = 12 /* a defect of wavejit that was caught */
} wavejit_status;

typedef struct wavejit_error wavejit_error;

/* "guest fault", ...; static storage. */
WAVEJIT_API const char* wavejit_status_string(wavejit_status status) WAVEJIT_NOEXCEPT;

/* The error of the last wavejit function that failed on the calling thread; NULL when none has. Owned by the thread,
 * valid until the next failure on it or its end. */
WAVEJIT_API const wavejit_error* wavejit_last_error(void) WAVEJIT_NOEXCEPT;
/* A copy that the caller owns and frees with wavejit_error_destroy; may go to other threads. NULL for NULL. */
WAVEJIT_API wavejit_error* wavejit_error_clone(const wavejit_error* error) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_error_destroy(wavejit_error* error) WAVEJIT_NOEXCEPT;

WAVEJIT_API wavejit_status wavejit_error_status(const wavejit_error* error) WAVEJIT_NOEXCEPT;
/* Complete sentences without a trailing newline. Never NULL. */
WAVEJIT_API const char* wavejit_error_message(const wavejit_error* error) WAVEJIT_NOEXCEPT;
/* Name of the kernel involved, NULL when none. */
WAVEJIT_API const char* wavejit_error_kernel(const wavejit_error* error) WAVEJIT_NOEXCEPT;
/* These return 1 and store the value when the error has one, else 0. The PC is the address in the loaded code object;
 * the message also gives it relative to a symbol. Lanes are 0..63. */
WAVEJIT_API int wavejit_error_pc(const wavejit_error* error, uint64_t* pc) WAVEJIT_NOEXCEPT;
WAVEJIT_API int wavejit_error_lane(const wavejit_error* error, uint32_t* lane) WAVEJIT_NOEXCEPT;
WAVEJIT_API int wavejit_error_address(const wavejit_error* error, uint64_t* address) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ library and host */

typedef enum WAVEJIT_ENUM(wavejit_engine) {
  /* The JIT where the CPU allows it, in two tiers: as long as a kernel is not translated, launches interpret it. It is
   * translated, on a thread of its own, once it has been interpreted for long enough, in all its launches, to be worth
   * that. Work-groups begun afterwards run translated code, and so do waves in long loops.
   * Results are the same (but for payloads of NaNs); what runs how varies from launch to launch. Code that cannot be
   * translated, for a defect of the translator or for lack of memory, stays interpreted, and stderr says so once; with
   * WAVEJIT_STRICT=1 in the environment that is an error. */
  WAVEJIT_ENGINE_AUTO = 0,
  WAVEJIT_ENGINE_INTERP = 1,
  WAVEJIT_ENGINE_JIT = 2 /* translates before anything runs; what cannot be translated is an error */
} wavejit_engine;

typedef enum WAVEJIT_ENUM(wavejit_isa) {
  WAVEJIT_ISA_AUTO = 0, /* the best the CPU has */
  WAVEJIT_ISA_AVX2 = 1,
  WAVEJIT_ISA_AVX512 = 2
} wavejit_isa;

/* WAVEJIT_VERSION of the library in use, and as text ("0.1.0"). */
WAVEJIT_API uint32_t wavejit_version(void) WAVEJIT_NOEXCEPT;
WAVEJIT_API const char* wavejit_version_string(void) WAVEJIT_NOEXCEPT;

WAVEJIT_API const char* wavejit_engine_string(wavejit_engine engine) WAVEJIT_NOEXCEPT;
WAVEJIT_API const char* wavejit_isa_string(wavejit_isa isa) WAVEJIT_NOEXCEPT;
/* 1 when translated code for `isa` can run on this CPU, else 0. AUTO asks for any of them. */
WAVEJIT_API int wavejit_isa_supported(wavejit_isa isa) WAVEJIT_NOEXCEPT;
/* The tier AUTO stands for on this CPU; AUTO when there is none. */
WAVEJIT_API wavejit_isa wavejit_isa_best(void) WAVEJIT_NOEXCEPT;
/* Threads that a launch uses by default: the CPUs available to the process. */
WAVEJIT_API uint32_t wavejit_default_threads(void) WAVEJIT_NOEXCEPT;
/* CPU model name; static storage. */
WAVEJIT_API const char* wavejit_host_cpu(void) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ containers */

/* A file that holds code objects: raw ELF, offload bundle (plain or compressed), or host binary with a .hip_fatbin. */
typedef struct wavejit_container wavejit_container;

typedef struct wavejit_entry_info {
  size_t size;
  const char* target;    /* "gfx908:sramecc+:xnack-" */
  const char* triple;    /* entry id as written in the bundle */
  uint32_t bundle_index; /* which bundle of the file */
  uint32_t reserved;
  const void* data; /* the ELF image, owned by the container */
  size_t data_size; /* bytes */
} wavejit_entry_info;

WAVEJIT_API wavejit_status wavejit_container_open(const char* path, wavejit_container** container) WAVEJIT_NOEXCEPT;
/* Copies `data`. */
WAVEJIT_API wavejit_status wavejit_container_parse(const void* data, size_t data_size,
                                                   wavejit_container** container) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_container_destroy(wavejit_container* container) WAVEJIT_NOEXCEPT;
/* "ELF code object", "offload bundle", ... */
WAVEJIT_API const char* wavejit_container_kind(const wavejit_container* container) WAVEJIT_NOEXCEPT;
WAVEJIT_API size_t wavejit_container_entry_count(const wavejit_container* container) WAVEJIT_NOEXCEPT;
WAVEJIT_API wavejit_status wavejit_container_entry(const wavejit_container* container, size_t index,
                                                   wavejit_entry_info* info) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ modules */

/* One code object, loaded and relocated. */
typedef struct wavejit_module wavejit_module;

typedef struct wavejit_load_options {
  size_t size;
  /* Target id to look for ("gfx906", "gfx90a:xnack-", with or without "amdgcn-amd-amdhsa--"). NULL: the file's only
   * target, or the first entry wavejit can run. */
  const char* target;
  /* Only the entry that defines this kernel, for files with many bundles. NULL: any. */
  const char* kernel;
} wavejit_load_options;

WAVEJIT_API wavejit_status wavejit_module_load_file(const char* path, const wavejit_load_options* options,
                                                    wavejit_module** module) WAVEJIT_NOEXCEPT;
/* `data` is any container; it is copied. */
WAVEJIT_API wavejit_status wavejit_module_load_memory(const void* data, size_t data_size,
                                                      const wavejit_load_options* options,
                                                      wavejit_module** module) WAVEJIT_NOEXCEPT;
WAVEJIT_API wavejit_status wavejit_module_load_entry(const wavejit_container* container, size_t index,
                                                     wavejit_module** module) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_module_destroy(wavejit_module* module) WAVEJIT_NOEXCEPT;

WAVEJIT_API const char* wavejit_module_target(const wavejit_module* module) WAVEJIT_NOEXCEPT;      /* "gfx90a:xnack-" */
WAVEJIT_API uint32_t wavejit_module_object_version(const wavejit_module* module) WAVEJIT_NOEXCEPT; /* 2..6 */
WAVEJIT_API size_t wavejit_module_kernel_count(const wavejit_module* module) WAVEJIT_NOEXCEPT;
/* NULL when `index` is out of range. */
WAVEJIT_API const char* wavejit_module_kernel_name(const wavejit_module* module, size_t index) WAVEJIT_NOEXCEPT;

typedef struct wavejit_variable_info {
  size_t size;
  const char* name;
  uint64_t address; /* host address, valid while the module lives */
  uint64_t bytes;
  int writable; /* by kernels and wavejit_variable_write; 0 only for a variable on a page with code */
} wavejit_variable_info;

WAVEJIT_API size_t wavejit_module_variable_count(const wavejit_module* module) WAVEJIT_NOEXCEPT;
WAVEJIT_API wavejit_status wavejit_module_variable(const wavejit_module* module, size_t index,
                                                   wavejit_variable_info* info) WAVEJIT_NOEXCEPT;
WAVEJIT_API wavejit_status wavejit_module_find_variable(const wavejit_module* module, const char* name,
                                                        wavejit_variable_info* info) WAVEJIT_NOEXCEPT;
/* Copy to or from a global variable; [offset, offset + bytes) must lie inside it. Not synchronised with launches. */
WAVEJIT_API wavejit_status wavejit_variable_read(const wavejit_module* module, const char* name, uint64_t offset,
                                                 void* data, size_t bytes) WAVEJIT_NOEXCEPT;
WAVEJIT_API wavejit_status wavejit_variable_write(const wavejit_module* module, const char* name, uint64_t offset,
                                                  const void* data, size_t bytes) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ kernels */

typedef struct wavejit_kernel wavejit_kernel;

typedef struct wavejit_kernel_info {
  size_t size;
  const char* name;
  const char* symbol;        /* descriptor symbol, e.g. "name.kd" */
  uint32_t arg_count;        /* explicit arguments; indices 0 .. arg_count - 1 */
  uint32_t hidden_arg_count; /* hidden ones follow; wavejit fills them in */
  uint32_t kernarg_size;     /* bytes, hidden arguments included */
  uint32_t lds_size;         /* static LDS of a work-group, bytes */
  uint32_t scratch_size;     /* private segment of a work-item, bytes */
  uint32_t sgpr_count, vgpr_count, agpr_count;
  uint32_t required_workgroup_size[3]; /* zeros when any */
  uint32_t max_workgroup_size;         /* flat, work-items */
  uint32_t wavefront_size;             /* always 64 */
  uint32_t code_size;                  /* bytes */
  uint32_t sgpr_spill_count, vgpr_spill_count;
  uint64_t entry; /* loaded address of the first instruction */
} wavejit_kernel_info;

typedef enum WAVEJIT_ENUM(wavejit_arg_kind) {
  WAVEJIT_ARG_VALUE = 0,   /* raw bytes */
  WAVEJIT_ARG_POINTER = 1, /* 8-byte pointer to global or constant memory */
  WAVEJIT_ARG_LOCAL = 2,   /* dynamic LDS: the argument's value is a size */
  WAVEJIT_ARG_OTHER = 3,   /* image, sampler, pipe, queue: not supported by launches */
  WAVEJIT_ARG_HIDDEN = 4
} wavejit_arg_kind;

typedef struct wavejit_arg_info {
  size_t size;
  const char* name;          /* "" when the metadata has none */
  const char* type_name;     /* source type, "" when the metadata has none */
  const char* kind_name;     /* as in the metadata: "by_value", "global_buffer", "hidden_block_count_x", ... */
  const char* address_space; /* "global", "constant", "local", "generic", ... or "" */
  uint32_t offset;           /* bytes into the kernarg segment */
  uint32_t bytes;
  wavejit_arg_kind kind;
} wavejit_arg_info;

/* By metadata name or symbol, with or without ".kd"; the error suggests the nearest name. */
WAVEJIT_API wavejit_status wavejit_kernel_create(const wavejit_module* module, const char* name,
                                                 wavejit_kernel** kernel) WAVEJIT_NOEXCEPT;
/* By index, for enumeration. */
WAVEJIT_API wavejit_status wavejit_kernel_create_at(const wavejit_module* module, size_t index,
                                                    wavejit_kernel** kernel) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_kernel_destroy(wavejit_kernel* kernel) WAVEJIT_NOEXCEPT;

WAVEJIT_API wavejit_status wavejit_kernel_get_info(const wavejit_kernel* kernel,
                                                   wavejit_kernel_info* info) WAVEJIT_NOEXCEPT;
/* index < arg_count + hidden_arg_count */
WAVEJIT_API wavejit_status wavejit_kernel_arg(const wavejit_kernel* kernel, uint32_t index,
                                              wavejit_arg_info* info) WAVEJIT_NOEXCEPT;

/* Set explicit argument `index`. `bytes` must equal the argument's size. Pointers may be set as 8 raw bytes too. */
WAVEJIT_API wavejit_status wavejit_kernel_set_arg(wavejit_kernel* kernel, uint32_t index, const void* data,
                                                  size_t bytes) WAVEJIT_NOEXCEPT;
WAVEJIT_API wavejit_status wavejit_kernel_set_arg_pointer(wavejit_kernel* kernel, uint32_t index,
                                                          const void* pointer) WAVEJIT_NOEXCEPT;
/* Bytes of LDS behind a local pointer argument. */
WAVEJIT_API wavejit_status wavejit_kernel_set_arg_local(wavejit_kernel* kernel, uint32_t index,
                                                        uint32_t lds_bytes) WAVEJIT_NOEXCEPT;
/* The kernarg segment as a whole, copied, instead of single arguments: at least the explicit arguments. Hidden
 * arguments that lie inside it are taken as given, the others are filled in. */
WAVEJIT_API wavejit_status wavejit_kernel_set_kernarg(wavejit_kernel* kernel, const void* data,
                                                      size_t bytes) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ launches */

/* Called about twice a second during a launch, on an internal thread; must not call wavejit. */
typedef void (*wavejit_progress_fn)(void* user, uint64_t workgroups_done, uint64_t workgroups_total);

/* A device: what the launches on it share, whatever their code objects. That is the global data share (GDS), the resources
 * of global wave sync (GWS), and room for waves: so many may wait for each other at a time. Launches that name no device
 * are on one that the process has. Memory and translations belong to no device. */
typedef struct wavejit_device wavejit_device;

/* `waves`: room for so many; 0: 2560, that of the largest GFX9 devices. NULL when out of memory. Thread-safe. */
WAVEJIT_API wavejit_device* wavejit_device_create(uint32_t waves) WAVEJIT_NOEXCEPT;
/* By its owner, when no launch uses it; NULL is ignored. */
WAVEJIT_API void wavejit_device_destroy(wavejit_device* device) WAVEJIT_NOEXCEPT;

typedef struct wavejit_launch_options {
  size_t size;
  uint32_t global[3];        /* work-items; 0 in y and z means 1. Need not be multiples of local (partial groups) */
  uint32_t local[3];         /* all 0: the required size, or a default; else 0 in y and z means 1 */
  uint32_t global_offset[3]; /* OpenCL global offset (hidden arguments) */
  uint32_t dynamic_lds;      /* bytes of LDS after the static and argument LDS (HIP's dynamic shared memory) */
  wavejit_engine engine;
  wavejit_isa isa;  /* JIT only */
  uint32_t threads; /* host threads; 0: wavejit_default_threads() */
  /* Non-zero: count executed instructions (wavejit_launch_stats.guest_instructions) in JIT code too. Code that counts
   * is translated apart from code that does not, and is slower. The interpreter always counts. */
  uint32_t count_instructions;
  uint64_t timeout_ns; /* 0: none */
  /* Comma-separated optimisations to do without: names of wavejit_optimisation_name(), or "all"; NULL: none. Results do
   * not depend on it. */
  const char* disabled_passes;
  wavejit_progress_fn progress;
  void* progress_user;
  /* Not NULL: the instructions that this launch executes are added to the report. Code that does so is translated
   * apart from code that does not, and is slower; AUTO is the JIT then. */
  struct wavejit_report* report;
  /* Not 0: a seed from which the order is drawn in which work-groups and waves have their turns, among those that hardware
   * could choose. Shakes out races of the kernel; slower. With one thread the same seed does the same every time. */
  uint64_t schedule;
  wavejit_device* device; /* NULL: the process's */
  /* Not NULL: what each instruction does is added to the profile. The launch is interpreted, and slower than otherwise;
   * WAVEJIT_INVALID_ARGUMENT with WAVEJIT_ENGINE_JIT. */
  struct wavejit_profile* profile;
} wavejit_launch_options;

static inline wavejit_launch_options wavejit_launch_options_default(void) {
  wavejit_launch_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  return options;
}

typedef struct wavejit_launch_stats {
  size_t size;
  uint64_t wall_ns;            /* the launch, translation excluded where it happened up front */
  uint64_t translate_ns;       /* lifting, optimising and compiling done for this launch, summed over threads; not what
                                * was still under way when it ended */
  uint64_t guest_instructions; /* executed by waves; 0 where translated code took part and was not to count */
  uint64_t workgroups;
  uint64_t waves;
  uint64_t work_items;
  uint64_t host_instructions;      /* x86 instructions of what was translated or taken from the disk (static count) */
  uint32_t translations;           /* units translated during this launch */
  uint32_t threads;                /* host threads that took part */
  wavejit_engine engine;           /* what AUTO became */
  wavejit_isa isa;                 /* AUTO for the interpreter */
  uint64_t interpreted_workgroups; /* begun by the interpreter */
  uint64_t moved_waves;            /* of these: went on in translated code before their end */
  uint64_t cache_ns;               /* looking for translations on disk, loading and storing them; not in translate_ns */
  uint32_t cached_translations;    /* units taken from the disk instead of being translated */
  uint32_t fallbacks;              /* units that could not be translated and were interpreted (AUTO) */
} wavejit_launch_stats;

static inline wavejit_launch_stats wavejit_launch_stats_default(void) {
  wavejit_launch_stats stats;
  memset(&stats, 0, sizeof stats);
  stats.size = sizeof stats;
  return stats;
}

/* Runs the kernel over the grid and returns when it has finished. `stats` may be NULL; it is filled in on guest errors
 * and timeouts too. After any failure the next launch starts clean. */
WAVEJIT_API wavejit_status wavejit_launch(const wavejit_kernel* kernel, const wavejit_launch_options* options,
                                          wavejit_launch_stats* stats) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ instruction set */

/* How faithful an engine is to the hardware in executing an instruction. */
typedef enum WAVEJIT_ENUM(wavejit_fidelity) {
  WAVEJIT_FIDELITY_UNSUPPORTED = 0, /* an error that names the instruction */
  WAVEJIT_FIDELITY_BOUNDED = 1, /* the documents give an error bound, results are within one; the same on all engines */
  WAVEJIT_FIDELITY_EXACT = 2,   /* the bits that the documents define, but for payloads of NaNs */
  WAVEJIT_FIDELITY_DECIDED = 3  /* the documents leave the last bits open; wavejit's choice, the same on all engines */
} wavejit_fidelity;

/* "unsupported", "bounded", "exact", "decided"; static storage. */
WAVEJIT_API const char* wavejit_fidelity_string(wavejit_fidelity fidelity) WAVEJIT_NOEXCEPT;

/* An instruction of the tables that decoder, interpreter and translator work from. Strings have static storage. */
typedef struct wavejit_instruction_info {
  size_t size;
  const char* name;     /* mnemonic of GFX9, or of the processors that have it */
  const char* format;   /* shortest encoding: "sop2", "vop1", "ds", ... */
  const char* unit;     /* "scalar", "control", "scalar memory", "vector", "matrix", "LDS", "vector memory", "image",
                         * "graphics" (never executed), "privileged" (for trap handlers: never executed) */
  const char* hardware; /* what the documents say of the hardware's precision; NULL for instructions of defined bits */
  const char* decision; /* what the documents leave open of the result; NULL for instructions of defined bits */
  double max_ulp;       /* wavejit's error against the true value; 0: no such bound */
  double max_absolute;  /* the same */
  wavejit_fidelity interpreter;
  wavejit_fidelity avx2;
  wavejit_fidelity avx512;
  uint32_t reserved;
} wavejit_instruction_info;

WAVEJIT_API size_t wavejit_instruction_count(void) WAVEJIT_NOEXCEPT;
/* WAVEJIT_NOT_FOUND beyond the last. */
WAVEJIT_API wavejit_status wavejit_instruction_get_info(size_t index, wavejit_instruction_info* info) WAVEJIT_NOEXCEPT;
/* 1 when processor `target` ("gfx906") has the instruction, else 0. */
WAVEJIT_API int wavejit_instruction_available(size_t index, const char* target) WAVEJIT_NOEXCEPT;
/* Processors whose instructions are decoded; NULL beyond the last. Static storage. */
WAVEJIT_API const char* wavejit_target_name(size_t index) WAVEJIT_NOEXCEPT;

/* What launches have executed. Launches that are given the same report add to it one after the other. */
typedef struct wavejit_report wavejit_report;

/* NULL when out of memory. Destroyed by its owner when no launch uses it; NULL is ignored. */
WAVEJIT_API wavejit_report* wavejit_report_create(void) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_report_destroy(wavejit_report* report) WAVEJIT_NOEXCEPT;
/* How many different instructions were executed. */
WAVEJIT_API size_t wavejit_report_size(const wavejit_report* report) WAVEJIT_NOEXCEPT;
/* The `index`-th of them, the most frequent first: an index for wavejit_instruction_get_info, and how often waves have
 * executed it (a wave of 64 lanes counts once). WAVEJIT_NOT_FOUND beyond the last. */
WAVEJIT_API wavejit_status wavejit_report_entry(const wavejit_report* report, size_t index, size_t* instruction,
                                                uint64_t* count) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ cache on disk */

/* Translations are kept in files for the next process that runs the same code, of all modules of a process in one
 * directory: by default "wavejit" in $XDG_CACHE_HOME, or else in ~/.cache. Entries depend on the build of wavejit, the
 * CPU and the code; what is damaged, or may have been written by somebody else, is not used. Nothing fails because the
 * cache does not work. docs/translation-cache.md has the details.
 *
 * The environment has a say before the program: WAVEJIT_CACHE=off switches the cache off, WAVEJIT_CACHE_DIR is the
 * directory, WAVEJIT_CACHE_BYTES the size limit (k, M and G may follow the number). Programs with privileges that their
 * user does not have ignore it. */

typedef enum WAVEJIT_ENUM(wavejit_cache_mode) {
  WAVEJIT_CACHE_DEFAULT = 0, /* on, unless the environment says otherwise */
  WAVEJIT_CACHE_ON = 1,
  WAVEJIT_CACHE_OFF = 2
} wavejit_cache_mode;

typedef struct wavejit_cache_options {
  size_t size;
  wavejit_cache_mode mode;
  const char* directory; /* made when needed; NULL: what the environment says */
  uint64_t max_bytes;    /* of all files together, in blocks of 4 KiB; 0: what the environment says, or 256 MiB */
} wavejit_cache_options;

static inline wavejit_cache_options wavejit_cache_options_default(void) {
  wavejit_cache_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  return options;
}

/* For the whole process and from now on; NULL: the defaults. Starts the counters of wavejit_cache_get_info anew. */
WAVEJIT_API wavejit_status wavejit_cache_configure(const wavejit_cache_options* options) WAVEJIT_NOEXCEPT;

typedef struct wavejit_cache_info {
  size_t size;
  int enabled;           /* 0 as well when there is no home to put it in */
  const char* directory; /* "" when there is none; valid until the calling thread's next call */
  uint64_t max_bytes;
  uint64_t entries; /* in the directory now, of all processes and builds */
  uint64_t bytes;   /* of those */
  /* By this process: */
  uint64_t loads;      /* units found */
  uint64_t misses;     /* units looked for in vain */
  uint64_t rejected;   /* of these: files that could not be used */
  uint64_t stores;     /* units written */
  uint64_t failures;   /* writes that did not work */
  uint64_t evictions;  /* entries removed to stay below the limit */
  const char* problem; /* why the last rejection or failure was one, or ""; valid as `directory` */
} wavejit_cache_info;

WAVEJIT_API wavejit_status wavejit_cache_get_info(wavejit_cache_info* info) WAVEJIT_NOEXCEPT;
/* Removes all entries, also those of other builds. `removed` may be NULL. What is switched off can be cleared. */
WAVEJIT_API wavejit_status wavejit_cache_clear(uint64_t* removed) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ memory */

/* Any host memory may be passed to kernels. Memory from wavejit_buffer_alloc additionally ends right before an
 * inaccessible page (as far as 64-byte alignment allows), so that overruns fault, and is zero-filled. From 2 MiB on the
 * system is asked for huge pages: the first access to each 2 MiB may take up as much memory. */
WAVEJIT_API wavejit_status wavejit_buffer_alloc(size_t bytes, void** pointer) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_buffer_free(void* pointer) WAVEJIT_NOEXCEPT;
/* Names a range of memory, so that fault messages can say which buffer an address is next to. Buffers are
 * known anyway. */
WAVEJIT_API wavejit_status wavejit_memory_register(const void* pointer, size_t bytes,
                                                   const char* name) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_memory_unregister(const void* pointer) WAVEJIT_NOEXCEPT;

/* ------------------------------------------------------------------------------------------------ looking inside */

/* Receives text in pieces; called on the calling thread before the function returns. */
typedef void (*wavejit_write_fn)(void* user, const char* text, size_t length);

typedef enum WAVEJIT_ENUM(wavejit_dump_kind) {
  WAVEJIT_DUMP_GCN = 0, /* disassembly with addresses, encodings and labels */
  WAVEJIT_DUMP_IR = 1,
  WAVEJIT_DUMP_X86 = 2,        /* annotated host assembly */
  WAVEJIT_DUMP_PASS_STATS = 3, /* how often each rule of the IR passes fired, and each pass ran */
  WAVEJIT_DUMP_LIR = 4         /* the backend's low-level IR before register allocation, annotated */
} wavejit_dump_kind;

typedef struct wavejit_dump_options {
  size_t size;
  wavejit_dump_kind kind;
  wavejit_isa isa;             /* for LIR and X86 */
  const char* stage;           /* for IR: "before:<pass>" or "after:<pass>"; NULL: after all passes */
  const char* disabled_passes; /* as for launches */
  /* All but GCN: the code for complete work-groups of this size (0 in y and z means 1), as launches use it; all 0: the
   * code for any work-group. */
  uint32_t local[3];
  /* Not 0, with `local`: the address of a loop's first instruction, as the GCN dump prints it. Then the code for waves that
   * come there from the interpreter, as with WAVEJIT_ENGINE_AUTO. */
  uint64_t moved_at;
  /* Not 0: with the profile that an earlier process has kept on the disk (docs/translation-cache.md). GCN: the samples and what
   * a translation chooses by them beside each instruction; all others: the code made with the profile. WAVEJIT_NOT_FOUND if
   * there is none, or the disk cache is off. */
  int profile;
} wavejit_dump_options;

WAVEJIT_API wavejit_status wavejit_kernel_dump(const wavejit_kernel* kernel, const wavejit_dump_options* options,
                                               wavejit_write_fn write, void* user) WAVEJIT_NOEXCEPT;

/* What instructions of kernels did, for each kernel apart. Launches that are given the same profile add to it one after
 * the other; those that fail add what was executed until then. It keeps the modules of its launches loaded. Any thread may
 * use it. */
typedef struct wavejit_profile wavejit_profile;

/* Of one instruction. Sums over its executions. */
typedef struct wavejit_profile_entry {
  size_t size;
  uint64_t address;     /* as wavejit_kernel_dump() prints it */
  const char* mnemonic; /* static storage */
  uint64_t executed;    /* by waves: 64 lanes count once */
  uint64_t lanes;       /* active ones */
  uint64_t taken;       /* branches: how often the wave did not go on behind it */
  /* Accesses by vector instructions to memory, not to the LDS, of which the address of each lane is known. */
  uint64_t accesses;
  uint64_t access_lanes; /* lanes that access memory */
  uint64_t consecutive;  /* accesses in which each lane's bytes are behind those of the lane before */
  uint64_t same;         /* accesses of all lanes to one place */
  uint64_t strided;      /* accesses with another distance, the same between all lanes */
  int64_t stride;        /* bytes; of the last one of these */
  uint64_t lines;        /* of 64 bytes, that the accesses touch */
  uint64_t access_bytes; /* of a lane, in the last access */
  /* Accesses to the LDS with an address for each lane. */
  uint64_t lds_accesses;
  uint64_t lds_halves; /* half waves in which some lane is active */
  uint64_t lds_cycles; /* that these take with 32 banks, each of which serves one dword a cycle */
  uint64_t lds_least; /* that as many different dwords take if they are spread over all banks: without bank conflicts */
} wavejit_profile_entry;

/* NULL when out of memory. Destroyed by its owner when no launch uses it; NULL is ignored. */
WAVEJIT_API wavejit_profile* wavejit_profile_create(void) WAVEJIT_NOEXCEPT;
WAVEJIT_API void wavejit_profile_destroy(wavejit_profile* profile) WAVEJIT_NOEXCEPT;
/* The `index`-th instruction that launches of the kernel executed, in the order of addresses, functions that it calls
 * included. WAVEJIT_NOT_FOUND beyond the last, and if no launch was of this kernel of this module. */
WAVEJIT_API wavejit_status wavejit_profile_get_entry(const wavejit_profile* profile, const wavejit_kernel* kernel,
                                                     size_t index, wavejit_profile_entry* entry) WAVEJIT_NOEXCEPT;
/* A summary, and the disassembly of the kernel and of the functions that it called, with executions by waves and the mean
 * of active lanes in front of each instruction, and how often a branch was taken or what addresses an access had behind
 * it. */
WAVEJIT_API wavejit_status wavejit_profile_write(const wavejit_profile* profile, const wavejit_kernel* kernel,
                                                 wavejit_write_fn write, void* user) WAVEJIT_NOEXCEPT;

/* Name and meaning of optimisation `index`, NULL beyond the last: IR passes, choices of the backend, what kernels are
 * specialised on. Static storage. */
WAVEJIT_API const char* wavejit_optimisation_name(size_t index) WAVEJIT_NOEXCEPT;
WAVEJIT_API const char* wavejit_optimisation_meaning(size_t index) WAVEJIT_NOEXCEPT;

/* Name and meaning of IR pass `index` in the order they run in, NULL beyond the last. Static storage. */
WAVEJIT_API const char* wavejit_pass_name(size_t index) WAVEJIT_NOEXCEPT;
WAVEJIT_API const char* wavejit_pass_meaning(size_t index) WAVEJIT_NOEXCEPT;

typedef struct wavejit_coverage_issue {
  size_t size;
  const char* stage;  /* "decode", "interp", "lift", "compile" */
  const char* what;   /* mnemonic, or the whole message for "compile" */
  const char* detail; /* mnemonic and encoding of the first occurrence */
  uint64_t pc;        /* of the first occurrence */
  uint64_t count;     /* occurrences in the kernel */
} wavejit_coverage_issue;

typedef struct wavejit_coverage {
  size_t size;
  uint64_t instructions; /* reachable from the entry by direct control flow */
  uint64_t illegal;      /* undecodable */
  uint64_t interp_unsupported;
  uint64_t lift_unsupported;
  uint32_t compiled; /* 1 when the whole unit was translated for `isa` */
  uint32_t issue_count;
  const wavejit_coverage_issue* issues; /* valid until the next wavejit_kernel_coverage call on this thread */
  uint64_t translate_ns;
  uint64_t host_instructions;
  uint64_t host_bytes;
} wavejit_coverage;

/* Decodes, lifts and compiles the kernel without running it, and counts what is unsupported. */
WAVEJIT_API wavejit_status wavejit_kernel_coverage(const wavejit_kernel* kernel, wavejit_isa isa,
                                                   wavejit_coverage* coverage) WAVEJIT_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* WAVEJIT_WAVEJIT_H_ */
