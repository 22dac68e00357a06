// A CUDA driver, libcuda.so.1, over GPGPU-Sim 4.2: what tilepragma's runtime calls of the driver API
// (runtime/device/cuda/cuda_api.h), with modules in PTX, memory, launches and events in simulated
// time. It claims compute capability 7.1, so that the runtime asks NVRTC for PTX, and knows no
// graphs. Launches are synchronous: each leaves a line of counts in the file that
// TILEK_SIMULATED_LAUNCHES names. What the simulator prints goes to the file TILEK_SIMULATED_LOG, or
// nowhere: standard output is the program's. TILEK_SIMULATED_CONFIGURATION is the folder with
// gpgpusim.config, where it is not the process's. PTX_SIM_MODE_FUNC=1 executes without timing.
//
// Built by benchmarks/gpu/simulated/simulator.py against the simulator's headers and library.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "gpgpu_context.h"
#include "gpgpusim_entrypoint.h"
#include "stream_manager.h"

CUctx_st *GPGPUSim_Context(gpgpu_context *);

namespace {

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_PTX = 218,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    ALIGNMENT = 256
};

enum Attribute { // CUdevice_attribute
    MAX_THREADS_PER_BLOCK = 1,
    MAX_BLOCK_DIM_X = 2,
    MAX_BLOCK_DIM_Z = 4,
    MAX_GRID_DIM_X = 5,
    MAX_GRID_DIM_Z = 7,
    MAX_SHARED_MEMORY_PER_BLOCK = 8,
    WARP_SIZE = 10,
    CLOCK_RATE = 13,
    MULTIPROCESSOR_COUNT = 16,
    MEMORY_CLOCK_RATE = 36,
    GLOBAL_MEMORY_BUS_WIDTH = 37,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    COOPERATIVE_LAUNCH = 95
};

struct Function {
    std::string name;
    function_info *entry;
    int registers, shared_bytes;
};

struct Module {
    symbol_table *symbols;
    std::map<std::string, Function> functions;
};

struct Event {
    unsigned long long cycle;
};

// Within its life, standard output is the log.
class Logged {
public:
    Logged() : lock(mutex())
    {
        fflush(stdout);
        kept = dup(1);
        dup2(log(), 1);
    }
    ~Logged()
    {
        fflush(stdout);
        dup2(kept, 1);
        close(kept);
    }
    static int log()
    {
        static const char *const path = getenv("TILEK_SIMULATED_LOG");
        static const int file = open(path != NULL ? path : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0666);
        return file;
    }

private:
    static std::recursive_mutex &mutex()
    {
        static std::recursive_mutex instance;
        return instance;
    }
    std::lock_guard<std::recursive_mutex> lock;
    int kept;
};

// The simulator speaks once more when the process ends: after what the program has to print.
void log_what_follows()
{
    fflush(stdout);
    dup2(Logged::log(), 1);
}

gpgpu_context *simulation() { return GPGPU_Context(); }
gpgpu_sim *gpu() { return GPGPUSim_Context(simulation())->get_device()->get_gpgpu(); }
int functional()
{
    const char *const mode = getenv("PTX_SIM_MODE_FUNC");
    return mode != NULL && atoi(mode) != 0;
}
unsigned long long cycles() { return gpu()->gpu_tot_sim_cycle + gpu()->gpu_sim_cycle; }

// The upper half of a product of signed 64-bit values, of which the simulator gives the lower one:
// by products of 32-bit halves, into registers `%product_PART<number>`.
std::string upper_half(const std::string &predicate, const std::string &to, const std::string &a, const std::string &b,
                       int number)
{
    const std::string suffix = std::to_string(number);
    const auto part = [&](const char *name) { return "%product_" + std::string(name) + suffix; };
    std::string text;
    const auto line = [&](const std::string &operation, const std::string &result, const std::string &operands) {
        text += "\t" + operation + " " + result + ", " + operands + ";\n";
    };
    const std::string a_low = part("a"), b_low = part("b"), a_high = part("c"), b_high = part("d"), sum = part("e"),
                      other = part("f"), shifted = part("g");
    for (const auto &halves : {std::make_pair(a, std::make_pair(a_low, a_high)),
                               std::make_pair(b, std::make_pair(b_low, b_high))}) {
        line("mov.b64", halves.second.second, halves.first);
        line("shl.b64", halves.second.first, halves.second.second + ", 32");
        line("shr.u64", halves.second.first, halves.second.first + ", 32");
        line("shr.s64", halves.second.second, halves.second.second + ", 32");
    }
    line("mul.lo.s64", sum, a_low + ", " + b_low);
    line("shr.u64", sum, sum + ", 32");
    line("mul.lo.s64", other, a_high + ", " + b_low);
    line("add.s64", sum, sum + ", " + other);
    line("shl.b64", shifted, sum + ", 32");
    line("shr.u64", shifted, shifted + ", 32");
    line("mul.lo.s64", other, a_low + ", " + b_high);
    line("add.s64", other, other + ", " + shifted);
    line("shr.s64", other, other + ", 32");
    line("shr.s64", sum, sum + ", 32");
    line("add.s64", sum, sum + ", " + other);
    line("mul.lo.s64", other, a_high + ", " + b_high);
    return text + predicate + "add.s64 " + to + ", " + sum + ", " + other + ";";
}

// What the simulator takes: it reads integers with atoi, so that greater ones than ints go through
// registers of their own (three instructions), knows no nanosleep, takes numbers for predicates the
// other way round, and has no upper halves of products of 64 bits.
std::string simulated_text(const std::string &text)
{
    static const std::regex large("(^|[ ,\\[{])(-?[0-9]{10,20})(?=[ ,;\\]}])");
    static const std::regex negation("^(\\s*(?:@!?%p[0-9]+\\s+)?)xor\\.pred\\s+(%p[0-9]+,)(\\s*%p[0-9]+),\\s*(?:-1|1);");
    static const std::regex true_predicate("^(\\s*(?:@!?%p[0-9]+\\s+)?)mov\\.pred\\s+(%p[0-9]+),\\s*(?:-1|1);");
    static const std::regex false_predicate("^(\\s*(?:@!?%p[0-9]+\\s+)?)mov\\.pred\\s+(%p[0-9]+),\\s*0;");
    static const std::regex upper("^(\\s*(?:@!?%p[0-9]+\\s+)?)mul\\.hi\\.s64\\s+(%\\w+),\\s*([%\\w-]+),\\s*([%\\w-]+);");
    std::istringstream lines(text);
    std::string line, result;
    int parts = 0, products = 0;
    while (std::getline(lines, line)) {
        std::smatch match;
        if (line.find("nanosleep") != std::string::npos)
            continue;
        line = std::regex_replace(line, negation, "$1not.pred $2$3;");
        line = std::regex_replace(line, true_predicate, "$1setp.eq.s32 $2, 0, 0;");
        line = std::regex_replace(line, false_predicate, "$1setp.ne.s32 $2, 0, 0;");
        const std::string::size_type first = line.find_first_not_of(" \t");
        const int is_directive = first == std::string::npos || line[first] == '.' || line[first] == '/';
        std::string rest = is_directive || line.find("64") == std::string::npos ? "" : line, done;
        while (std::regex_search(rest, match, large)) {
            const std::string digits = match[2], number = std::to_string(parts);
            const unsigned long long value = digits[0] == '-' ? (unsigned long long)std::stoll(digits)
                                                              : std::stoull(digits);
            const int fits = digits.size() <= 11 && (long long)value == (int)value;
            if (!fits) {
                result += "\tmov.u32 %part_low" + number + ", " + std::to_string((int)(unsigned)value) + ";\n";
                result += "\tmov.u32 %part_high" + number + ", " + std::to_string((int)(unsigned)(value >> 32)) + ";\n";
                result += "\tmov.b64 %large" + number + ", {%part_low" + number + ", %part_high" + number + "};\n";
                ++parts;
            }
            done += match.prefix().str() + match[1].str() + (fits ? digits : "%large" + number);
            rest = match.suffix().str();
        }
        line = done.empty() ? line : done + rest;
        if (std::regex_search(line, match, upper))
            line = upper_half(match[1], match[2], match[3], match[4], products++);
        result += line + "\n";
    }
    if (parts == 0 && products == 0)
        return result;
    std::string declared = "{\n";
    for (int product = 0; product < products; ++product)
        for (const char *const name : {"a", "b", "c", "d", "e", "f", "g"})
            declared += "\t.reg .b64 %product_" + std::string(name) + std::to_string(product) + ";\n";
    for (int part = 0; part < parts; ++part) {
        const std::string number = std::to_string(part);
        declared += "\t.reg .b32 %part_low" + number + ", %part_high" + number + ";\n\t.reg .b64 %large" + number + ";\n";
    }
    // Bodies of functions begin with a brace of their own line.
    std::string::size_type place = 0;
    while ((place = result.find("\n{\n", place)) != std::string::npos) {
        result.replace(place + 1, 2, declared);
        place += declared.size();
    }
    return result;
}

// A new file with the text; `path` is a pattern of mkstemp's.
int write_file(char *path, const std::string &text)
{
    const int descriptor = mkstemp(path);
    if (descriptor < 0)
        return 0;
    const int written = write(descriptor, text.data(), text.size()) == (ssize_t)text.size();
    close(descriptor);
    return written;
}

// The simulator has one table of names for all modules: those of entries and variables of a module
// get its number.
std::string numbered_names(const std::string &text, unsigned number, std::vector<std::string> &entries)
{
    static const std::regex entry("\\.entry\\s+([A-Za-z_$%][A-Za-z0-9_$]*)");
    static const std::regex variable(
        "(?:^|\n)(?:\\.visible |\\.extern )?\\.(?:shared|global|const)[^;\n=]*\\s([A-Za-z_$%][A-Za-z0-9_$]*)[\\[;]");
    static const std::regex word("[A-Za-z_$%][A-Za-z0-9_$]*");
    std::map<std::string, std::string> renamed;
    for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match)
        entries.push_back((*match)[1]);
    for (const std::string &name : entries)
        renamed[name] = name + "_" + std::to_string(number);
    for (std::sregex_iterator match(text.begin(), text.end(), variable), end; match != end; ++match)
        renamed[(*match)[1]] = (*match)[1].str() + "_" + std::to_string(number);
    std::string result;
    auto rest = text.begin();
    for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match) {
        const auto found = renamed.find(match->str());
        result.append(rest, (*match)[0].first);
        result += found != renamed.end() ? found->second : match->str();
        rest = (*match)[0].second;
    }
    return result.append(rest, text.end());
}

// ptxas tells the registers and the shared memory of each function, on which occupancy depends.
void read_resources(const std::string &text, std::map<std::string, Function> &functions)
{
    char file[] = "/tmp/tilek-simulated-XXXXXX";
    const char *const assembler = getenv("TILEK_SIMULATED_PTXAS");
    const int written = write_file(file, text);
    const std::string command = std::string(assembler != NULL ? assembler : "ptxas") +
                                " -v -arch=sm_70 -o /dev/null " + file + " 2>&1";
    FILE *const output = written ? popen(command.c_str(), "r") : NULL;
    char line[4096];
    std::string name;
    while (output != NULL && fgets(line, sizeof line, output) != NULL) {
        const char *const quote = strstr(line, "Compiling entry function '");
        const char *const used = strstr(line, "Used ");
        const char *const shared = strstr(line, " bytes smem");
        if (quote != NULL) {
            name = std::string(strchr(quote, '\'') + 1);
            name = name.substr(0, name.find('\''));
        }
        if (used != NULL && functions.count(name)) {
            functions[name].registers = atoi(used + 5);
            const char *begin = shared;
            while (begin != NULL && begin > line && begin[-1] >= '0' && begin[-1] <= '9')
                --begin;
            functions[name].shared_bytes = begin != NULL ? atoi(begin) : 0;
        }
    }
    if (output != NULL && pclose(output) != 0)
        fprintf(stderr, "tilek: ptxas does not assemble a kernel for sm_70 (%s)\n", command.c_str());
    unlink(file);
}

struct Device_launch {
    Function *function;
    unsigned grid[3], block[3];
};

int blocks_of(const Function &function, int threads, size_t dynamic_bytes)
{
    const int warps = (threads + 31) / 32;
    const int registers = function.registers > 0 ? (function.registers + 7) / 8 * 8 : 32;
    const int by_registers = 65536 / (registers * 32 * warps);
    const int by_threads = 2048 / (32 * warps);
    const size_t bytes = function.shared_bytes + dynamic_bytes;
    const int by_shared = bytes > 0 ? (int)(98304 / bytes) : 32;
    return std::min(std::min(by_registers, by_threads), std::min(by_shared, 32));
}

void write_counts(const Device_launch &launch, unsigned long long simulated_cycles, unsigned long long instructions)
{
    const char *const path = getenv("TILEK_SIMULATED_LAUNCHES");
    FILE *const file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
    const double occupancy = blocks_of(*launch.function, (int)threads, 0) * ((threads + 31) / 32) / 64.0;
    fprintf(file,
            "{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"registers\": %d, "
            "\"shared\": %d, \"occupancy\": %.3f, \"cycles\": %llu, \"instructions\": %llu}\n",
            launch.function->name.c_str(), launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
            launch.block[1], launch.block[2], launch.function->registers, launch.function->shared_bytes, occupancy,
            simulated_cycles, instructions);
    fclose(file);
}

// The simulator's own waiting, and its thread without work, keep a processor busy: this one sleeps,
// and the thread lives for a launch.
void wait_for(GPGPUsim_ctx &state)
{
    for (int done = 0; !done; usleep(100)) {
        pthread_mutex_lock(&state.g_sim_lock);
        done = (state.g_stream_manager->empty() && !state.g_sim_active) || state.g_sim_done;
        pthread_mutex_unlock(&state.g_sim_lock);
    }
}

int run(const Device_launch &launch, void **arguments)
{
    const Logged logged;
    gpgpu_context *const context = simulation();
    CUctx_st *const device = GPGPUSim_Context(context);
    function_info *const entry = launch.function->entry;
    gpgpu_ptx_sim_arg_list_t list;
    for (unsigned k = 0; k < entry->num_args(); ++k) {
        const std::pair<size_t, unsigned> parameter = entry->get_param_config(k);
        list.push_front(gpgpu_ptx_sim_arg(arguments[k], parameter.first, parameter.second));
    }
    context->func_sim->g_ptx_sim_mode = functional();
    device->register_hostFun_function((const char *)launch.function, entry);
    kernel_info_t *const grid = context->api->gpgpu_cuda_ptx_sim_init_grid(
        (const char *)launch.function, list, dim3(launch.grid[0], launch.grid[1], launch.grid[2]),
        dim3(launch.block[0], launch.block[1], launch.block[2]), device);
    if (!entry->is_pdom_set()) {
        entry->do_pdom();
        entry->set_pdom();
    }
    const unsigned long long cycles_before = cycles();
    const unsigned long long before = context->func_sim->g_ptx_sim_num_insn;
    stream_operation operation(grid, context->func_sim->g_ptx_sim_mode, NULL);
    context->start_sim_thread(1);
    context->the_gpgpusim->g_stream_manager->push(operation);
    wait_for(*context->the_gpgpusim);
    context->exit_simulation();
    atexit(log_what_follows); // after the simulator's thread began, so that it comes before what that says
    write_counts(launch, cycles() - cycles_before, context->func_sim->g_ptx_sim_num_insn - before);
    return SUCCESS;
}

} // namespace

extern "C" {

int cuInit(unsigned)
{
    const Logged logged;
    const char *const configuration = getenv("TILEK_SIMULATED_CONFIGURATION");
    const int folder = open(".", O_RDONLY | O_DIRECTORY);
    // The simulator reads gpgpusim.config where the process is.
    if (configuration != NULL && chdir(configuration) != 0)
        return NO_DEVICE;
    GPGPUSim_Context(simulation());
    const int returned = folder >= 0 && fchdir(folder) == 0;
    close(folder);
    return returned ? SUCCESS : NO_DEVICE;
}

int cuDriverGetVersion(int *version) { return *version = 11080, SUCCESS; }
int cuGetErrorString(int error, const char **text)
{
    *text = error == INVALID_PTX ? "the simulator does not parse the PTX" : "simulated error";
    return SUCCESS;
}
int cuDeviceGetCount(int *count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal == 0 ? SUCCESS : INVALID_VALUE; }
int cuDeviceGetName(char *name, int size, int)
{
    snprintf(name, (size_t)size, "GPGPU-Sim with %u multiprocessors", gpu()->get_config().num_shader());
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = (size_t)1 << 31, SUCCESS; }

int cuDeviceGetAttribute(int *value, int attribute, int)
{
    *value = 0;
    if (attribute == MAX_THREADS_PER_BLOCK)
        *value = 1024;
    else if (attribute >= MAX_BLOCK_DIM_X && attribute <= MAX_BLOCK_DIM_Z)
        *value = attribute == MAX_BLOCK_DIM_Z ? 64 : 1024;
    else if (attribute >= MAX_GRID_DIM_X && attribute <= MAX_GRID_DIM_Z)
        *value = attribute == MAX_GRID_DIM_X ? 2147483647 : 65535;
    else if (attribute == MAX_SHARED_MEMORY_PER_BLOCK)
        *value = 49152;
    else if (attribute == WARP_SIZE)
        *value = 32;
    else if (attribute == CLOCK_RATE)
        *value = gpu()->shader_clock();
    else if (attribute == MULTIPROCESSOR_COUNT)
        *value = (int)gpu()->get_config().num_shader();
    else if (attribute == MEMORY_CLOCK_RATE)
        *value = 850000;
    else if (attribute == GLOBAL_MEMORY_BUS_WIDTH)
        *value = 128 * (int)gpu()->getMemoryConfig()->m_n_mem;
    else if (attribute == COMPUTE_CAPABILITY_MAJOR)
        *value = 7;
    else if (attribute == COMPUTE_CAPABILITY_MINOR)
        *value = 1;
    else if (attribute == COOPERATIVE_LAUNCH)
        *value = !functional(); // there blocks run one after the other, and none may wait for a later one
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int) { return *context = GPGPUSim_Context(simulation()), SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxPushCurrent_v2(void *) { return SUCCESS; }
int cuCtxPopCurrent_v2(void **context) { return *context = NULL, SUCCESS; }

int cuModuleLoadData(Module **module, const void *image)
{
    const Logged logged;
    const char *const text = (const char *)image;
    static unsigned handle;
    *module = NULL;
    if (strstr(text, ".version") == NULL)
        return INVALID_PTX;
    gpgpu_context *const context = simulation();
    CUctx_st *const device = GPGPUSim_Context(context);
    std::vector<std::string> entries;
    const std::string parsed = numbered_names(simulated_text(text), ++handle, entries);
    char file[] = "/tmp/tilek-simulated-XXXXXX";
    if (!write_file(file, parsed))
        return OUT_OF_MEMORY;
    Module *const made = new Module;
    made->symbols = context->gpgpu_ptx_sim_load_ptx_from_filename(file);
    unlink(file);
    device->add_binary(made->symbols, handle);
    context->api->load_static_globals(made->symbols, 0x10000000, 0xFFFFFFFF, gpu());
    context->api->load_constants(made->symbols, 0x10000000, gpu());
    for (const std::string &name : entries) {
        symbol *const symbol_of_entry = made->symbols->lookup((name + "_" + std::to_string(handle)).c_str());
        if (symbol_of_entry != NULL && symbol_of_entry->get_pc() != NULL)
            made->functions[name] = {name, symbol_of_entry->get_pc(), 0, 0};
    }
    read_resources(text, made->functions);
    for (auto &item : made->functions) {
        gpgpu_ptx_sim_info info = {};
        info.regs = item.second.registers;
        info.smem = item.second.shared_bytes;
        info.maxthreads = 1024;
        info.ptx_version = 70;
        info.sm_target = 70;
        item.second.entry->set_kernel_info(info);
    }
    *module = made;
    return SUCCESS;
}

// Functions stay in the simulator's tables, which other modules may look into.
int cuModuleUnload(Module *) { return SUCCESS; }

int cuModuleGetFunction(Function **function, Module *module, const char *name)
{
    const auto found = module->functions.find(name);
    *function = found != module->functions.end() ? &found->second : NULL;
    return *function != NULL ? SUCCESS : NOT_FOUND;
}

int cuFuncGetAttribute(int *value, int attribute, Function *function)
{
    const int registers = function->registers > 0 ? (function->registers + 7) / 8 * 8 : 32;
    *value = attribute == 0 ? std::min(1024, 65536 / registers / 32 * 32) : 0;
    return attribute == 0 ? SUCCESS : INVALID_VALUE;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    const Logged logged;
    *address = (unsigned long long)gpu()->gpu_malloc((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return *address != 0 ? SUCCESS : OUT_OF_MEMORY;
}
int cuMemFree_v2(unsigned long long) { return SUCCESS; }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *)
{
    const Logged logged;
    return gpu()->memcpy_to_gpu(to, from, bytes), SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *)
{
    const Logged logged;
    return gpu()->memcpy_from_gpu(to, from, bytes), SUCCESS;
}

int cuStreamCreate(void **stream, unsigned) { return *stream = malloc(1), SUCCESS; }
int cuStreamDestroy_v2(void *stream) { return free(stream), SUCCESS; }
int cuStreamSynchronize(void *) { return SUCCESS; }
int cuEventCreate(Event **event, unsigned) { return *event = new Event{0}, SUCCESS; }
int cuEventDestroy_v2(Event *event) { return delete event, SUCCESS; }
int cuEventRecord(Event *event, void *) { return event->cycle = cycles(), SUCCESS; }
int cuEventSynchronize(Event *) { return SUCCESS; }
int cuEventElapsedTime(float *milliseconds, Event *start, Event *stop)
{
    *milliseconds = (float)((double)(stop->cycle - start->cycle) / gpu()->shader_clock());
    return SUCCESS;
}

int cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned, void *, void **arguments, void **)
{
    return run({function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}}, arguments);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads, size_t dynamic_bytes)
{
    return *blocks = blocks_of(*function, threads, dynamic_bytes), SUCCESS;
}

int cuLaunchCooperativeKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned, void *stream, void **arguments)
{
    const int at_once = blocks_of(*function, (int)(block_x * block_y * block_z), 0) *
                        (int)gpu()->get_config().num_shader();
    if (grid_x * grid_y * grid_z > (unsigned)at_once)
        return COOPERATIVE_LAUNCH_TOO_LARGE;
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, 0, stream, arguments, NULL);
}
}
