// Runs the kernels of an exported folder on an AMD GPU through the HIP module API:
// uploads the inputs, checks the results against the reference, warms up, times
// each launch with events, and prints one JSON object.
//
//   ./host [--dir DIR] [--warmup N] [--launches N] [--once] [--no-verify] [--device N]
//          [--repeat N] [--save DIR]
//
// With --repeat each launch runs N times in sequence and is not timed: that is for a
// profiler. --save writes the buffers that the plan names.
//
// Exit code: 0 done, 1 a HIP call failed or the values are wrong, 2 bad usage or
// a damaged folder, 3 no GPU or not the one that the kernels are for.
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Failure : std::runtime_error {
    int code;
    Failure(int c, const std::string &what) : std::runtime_error(what), code(c) {}
};

void check(hipError_t e, const std::string &what) {
    if (e != hipSuccess) throw Failure(1, what + ": " + hipGetErrorString(e));
}

// One buffer of device memory.
struct Region {
    std::string name, file; // no file: zeros
    uint64_t bytes = 0, hash = 0;
    bool reset = false;     // zeroed before every launch, outside the timing
};

// A pointer among the arguments: where it stands and what it points at.
struct Pointer { size_t at, region; uint64_t offset; };

struct Launch {
    std::string object, symbol;
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    std::vector<uint8_t> args;
    std::vector<Pointer> pointers;
    hipFunction_t function = nullptr;
    bool cold = false; // the last-level cache holds nothing of its buffers
};

// A buffer that --save writes to a file.
struct Saved { size_t region; std::string file; };

struct Plan {
    std::string kernel, arch, dtype;
    double flops = 0, bytes = 0, limit = 0;
    uint64_t rotate = 0; // bytes of inputs to go around in, so that caches start cold
    std::vector<Region> regions;
    std::vector<Launch> launches;
    std::vector<Saved> saved;
    std::string expected;
};

struct Options {
    std::string dir = ".", save;
    int warmup = 500, launches = 100, device = 0, repeat = 0;
    bool once = false, verify = true;
};

std::string quoted(const std::string &s) {
    std::string out = "\"";
    for (unsigned char c : s) {
        if (c == '"' || c == '\\') { out += '\\'; out += char(c); }
        else if (c < 0x20) { char b[8]; std::snprintf(b, sizeof b, "\\u%04x", c); out += b; }
        else out += char(c);
    }
    return out + "\"";
}

std::vector<uint8_t> readFile(const std::string &path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) throw Failure(2, "cannot read " + path + ": " + std::strerror(errno));
    std::vector<uint8_t> data(size_t(in.tellg()));
    in.seekg(0);
    if (!data.empty() && !in.read(reinterpret_cast<char *>(data.data()), std::streamsize(data.size())))
        throw Failure(2, path + " cannot be read to its end");
    return data;
}

// FNV-1a over 64-bit words, the last one padded with zeros.
uint64_t hashOf(const std::vector<uint8_t> &data) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < data.size(); i += 8) {
        uint64_t w = 0;
        std::memcpy(&w, &data[i], std::min<size_t>(8, data.size() - i));
        h = (h ^ w) * 0x100000001b3u;
    }
    return h;
}

// The plan is one item a line: a word, then fields; names stand last because they
// may have spaces.
Plan readPlan(const std::string &dir) {
    const std::string path = dir + "/plan.txt";
    std::ifstream in(path);
    if (!in) throw Failure(2, "cannot read " + path + "; --dir names the exported folder");
    Plan p;
    std::string line;
    int number = 0;
    bool complete = false;
    auto bad = [&](const std::string &why) { throw Failure(2, path + ":" + std::to_string(number) + ": " + why); };
    while (std::getline(in, line)) {
        number++;
        std::istringstream f(line);
        std::string word;
        f >> word;
        auto rest = [&] { std::string s; f >> std::ws; std::getline(f, s); return s; };
        if (number == 1) {
            std::string version;
            f >> version;
            if (word != "whisker-plan" || version != "1") bad("it is no plan of version 1");
        } else if (word == "kernel") p.kernel = rest();
        else if (word == "arch") f >> p.arch;
        else if (word == "dtype") f >> p.dtype;
        else if (word == "flops") f >> p.flops;
        else if (word == "bytes") f >> p.bytes;
        else if (word == "limit") f >> p.limit;
        else if (word == "rotate") f >> p.rotate;
        else if (word == "expected") f >> p.expected;
        else if (word == "region") {
            Region r;
            std::string file;
            f >> r.bytes >> file >> std::hex >> r.hash >> std::dec;
            r.file = file == "-" ? "" : file;
            r.name = rest();
            p.regions.push_back(r);
        } else if (word == "reset") {
            size_t i = 0;
            f >> i;
            if (i >= p.regions.size()) bad("there is no such region");
            p.regions[i].reset = true;
        } else if (word == "launch") {
            Launch l;
            std::string hex;
            f >> l.object >> l.symbol >> l.grid[0] >> l.grid[1] >> l.grid[2] >> l.block[0] >> l.block[1] >> l.block[2] >> hex;
            for (size_t i = 0; i + 1 < hex.size(); i += 2) l.args.push_back(uint8_t(std::stoul(hex.substr(i, 2), nullptr, 16)));
            p.launches.push_back(l);
        } else if (word == "pointer") {
            Pointer q{};
            f >> q.at >> q.region >> q.offset;
            if (p.launches.empty() || q.region >= p.regions.size() || q.at + 8 > p.launches.back().args.size()) bad("the pointer fits no launch");
            p.launches.back().pointers.push_back(q);
        } else if (word == "cold") {
            if (p.launches.empty()) bad("there is no launch before it");
            p.launches.back().cold = true;
        } else if (word == "save") {
            Saved v{};
            f >> v.region >> v.file;
            if (v.region >= p.regions.size() || v.file.find('/') != std::string::npos) bad("there is no such region, or the file is not in one folder");
            p.saved.push_back(v);
        } else if (word == "end") complete = true;
        else bad("unknown word " + quoted(word));
        if (f.fail()) bad("a field is missing or is no number");
    }
    if (!complete) { number++; bad("the plan ends early"); }
    return p;
}

// ---- the values that the results should have

double half(uint16_t h) {
    const int e = h >> 10 & 31, m = h & 1023;
    double v = e == 0 ? std::ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : std::ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

enum Type : uint32_t { BF16 = 0, FP16 = 1, F32 = 2, U32 = 3 };

double valueAt(const std::vector<uint8_t> &data, uint64_t at, uint32_t type) {
    uint16_t h = 0;
    uint32_t w = 0;
    float f = 0;
    switch (type) {
    case BF16: std::memcpy(&h, &data[at], 2); w = uint32_t(h) << 16; std::memcpy(&f, &w, 4); return f;
    case FP16: std::memcpy(&h, &data[at], 2); return half(h);
    case F32: std::memcpy(&f, &data[at], 4); return f;
    default: std::memcpy(&w, &data[at], 4); return w;
    }
}

// One piece of expected.bin; the values, doubles, follow it.
struct Piece { uint32_t region, type; uint64_t offset, count; double scale; uint32_t fixed, pad; };
static_assert(sizeof(Piece) == 40, "the piece is as the exporter writes it");

struct Verdict { double worst = 0; uint64_t values = 0; };

Verdict verify(const Plan &p, const std::string &dir, const std::vector<void *> &buffers) {
    const std::string path = dir + "/" + p.expected;
    const std::vector<uint8_t> want = readFile(path);
    std::map<uint32_t, std::vector<uint8_t>> results;
    Verdict v;
    for (size_t at = 0; at < want.size();) {
        Piece e;
        if (want.size() - at < sizeof e) throw Failure(2, path + " is cut short");
        std::memcpy(&e, &want[at], sizeof e);
        at += sizeof e;
        const uint64_t size = e.type <= FP16 ? 2 : 4;
        if (e.region >= p.regions.size() || e.type > U32 || e.count > (want.size() - at) / 8 ||
            e.offset > p.regions[e.region].bytes || e.count * size > p.regions[e.region].bytes - e.offset)
            throw Failure(2, path + " does not fit the plan");
        auto &got = results[e.region];
        if (got.empty()) {
            got.resize(p.regions[e.region].bytes);
            check(hipMemcpy(got.data(), buffers[e.region], got.size(), hipMemcpyDeviceToHost), "hipMemcpy of " + p.regions[e.region].name);
        }
        for (uint64_t i = 0; i < e.count; i++) {
            double ref;
            std::memcpy(&ref, &want[at + 8 * i], 8);
            const double diff = std::fabs(valueAt(got, e.offset + i * size, e.type) - ref);
            double rel = diff == 0 ? 0 : diff / (e.fixed ? e.scale : std::max(std::fabs(ref), e.scale));
            if (std::isnan(rel)) rel = INFINITY;
            v.worst = std::max(v.worst, rel);
        }
        v.values += e.count;
        at += 8 * e.count;
    }
    return v;
}

// ---- the device

struct Device { std::string name, arch; int cus = 0, clockMHz = 0; };

Device findDevice(const Options &o, const Plan &p) {
    int n = 0;
    const hipError_t e = hipGetDeviceCount(&n);
    if (e != hipSuccess || n == 0)
        throw Failure(3, std::string("no AMD GPU was found by HIP") + (e != hipSuccess ? std::string(" (") + hipGetErrorString(e) + ")" : "") +
                             "; " + p.kernel + " needs one of " + p.arch + " (is the amdgpu driver loaded, and may this user open /dev/kfd?)");
    if (o.device < 0 || o.device >= n) throw Failure(2, "--device " + std::to_string(o.device) + ": there are " + std::to_string(n) + " devices, counted from 0");
    hipDeviceProp_t prop;
    check(hipGetDeviceProperties(&prop, o.device), "hipGetDeviceProperties");
    Device d{prop.name, prop.gcnArchName, prop.multiProcessorCount, prop.clockRate / 1000};
    if (d.arch.substr(0, d.arch.find(':')) != p.arch)
        throw Failure(3, "device " + std::to_string(o.device) + " is " + d.arch + "; the kernels were exported for " + p.arch);
    check(hipSetDevice(o.device), "hipSetDevice");
    return d;
}

// A set of buffers, one a region.
using Buffers = std::vector<void *>;

Buffers upload(const Plan &p, const std::string &dir) {
    Buffers out;
    for (const Region &r : p.regions) {
        void *ptr = nullptr;
        check(hipMalloc(&ptr, std::max<uint64_t>(r.bytes, 4)), "hipMalloc of " + std::to_string(r.bytes) + " bytes for " + r.name);
        if (r.file.empty()) {
            check(hipMemset(ptr, 0, r.bytes), "hipMemset of " + r.name);
        } else {
            const std::vector<uint8_t> data = readFile(dir + "/" + r.file);
            if (data.size() != r.bytes || hashOf(data) != r.hash) throw Failure(2, dir + "/" + r.file + " is not what was exported: " + std::to_string(data.size()) + " bytes, want " + std::to_string(r.bytes));
            check(hipMemcpy(ptr, data.data(), data.size(), hipMemcpyHostToDevice), "hipMemcpy of " + r.name);
        }
        out.push_back(ptr);
    }
    return out;
}

void load(Plan &p, const std::string &dir) {
    std::map<std::string, hipModule_t> modules;
    for (Launch &l : p.launches) {
        if (!modules.count(l.object)) check(hipModuleLoad(&modules[l.object], (dir + "/" + l.object).c_str()), "hipModuleLoad of " + l.object);
        check(hipModuleGetFunction(&l.function, modules[l.object], l.symbol.c_str()), "hipModuleGetFunction of " + l.symbol);
    }
}

void run(const Launch &l, const Buffers &buffers) {
    std::vector<uint8_t> args = l.args;
    for (const Pointer &q : l.pointers) {
        const uint64_t to = uint64_t(reinterpret_cast<uintptr_t>(buffers[q.region])) + q.offset;
        std::memcpy(&args[q.at], &to, 8);
    }
    size_t size = args.size();
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, args.data(), HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    check(hipModuleLaunchKernel(l.function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], 0, nullptr, nullptr, extra), "launch of " + l.symbol);
}

void reset(const Plan &p, const Buffers &buffers) {
    for (size_t i = 0; i < p.regions.size(); i++)
        if (p.regions[i].reset) check(hipMemsetAsync(buffers[i], 0, p.regions[i].bytes, nullptr), "hipMemset of " + p.regions[i].name);
}

void runAll(const Plan &p, const Buffers &buffers) {
    reset(p, buffers);
    for (const Launch &l : p.launches) run(l, buffers);
}

// What is written to empty the last-level cache.
const size_t flushBytes = size_t(1) << 30;

// Runs every launch so many times in sequence, for a profiler to look at.
void repeat(const Plan &p, const Buffers &buffers, int times) {
    void *flush = nullptr;
    for (const Launch &l : p.launches)
        if (l.cold && !flush) check(hipMalloc(&flush, flushBytes), "hipMalloc of the buffer that empties caches");
    for (const Launch &l : p.launches) {
        for (int i = 0; i < times; i++) {
            if (l.cold) check(hipMemset(flush, i, flushBytes), "hipMemset that empties caches");
            run(l, buffers);
        }
        check(hipDeviceSynchronize(), l.symbol);
    }
    if (flush) check(hipFree(flush), "hipFree");
}

void save(const Plan &p, const Buffers &buffers, const std::string &dir) {
    for (const Saved &s : p.saved) {
        std::vector<char> data(p.regions[s.region].bytes);
        check(hipMemcpy(data.data(), buffers[s.region], data.size(), hipMemcpyDeviceToHost), "hipMemcpy of " + s.file);
        std::ofstream out(dir + "/" + s.file, std::ios::binary);
        if (!out.write(data.data(), std::streamsize(data.size())) || !out.flush()) throw Failure(1, "cannot write " + dir + "/" + s.file);
    }
}

// Times each launch of launches [from, to) with an event on either side, as the
// published measurements do. The others run untimed.
std::vector<double> timed(const Plan &p, const std::vector<Buffers> &sets, const Options &o, size_t from, size_t to) {
    hipEvent_t start, stop;
    check(hipEventCreate(&start), "hipEventCreate");
    check(hipEventCreate(&stop), "hipEventCreate");
    std::vector<double> us;
    for (int i = 0; i < o.warmup + o.launches; i++) {
        const Buffers &b = sets[size_t(i) % sets.size()];
        if (i < o.warmup) { runAll(p, b); continue; }
        reset(p, b);
        for (size_t k = 0; k < p.launches.size(); k++) {
            if (k == from) check(hipEventRecord(start, nullptr), "hipEventRecord");
            run(p.launches[k], b);
            if (k + 1 == to) check(hipEventRecord(stop, nullptr), "hipEventRecord");
        }
        check(hipEventSynchronize(stop), "hipEventSynchronize");
        float ms = 0;
        check(hipEventElapsedTime(&ms, start, stop), "hipEventElapsedTime");
        us.push_back(ms * 1e3);
    }
    check(hipEventDestroy(start), "hipEventDestroy");
    check(hipEventDestroy(stop), "hipEventDestroy");
    return us;
}

// Statistics of the times as the fields of a JSON object.
std::string stats(std::vector<double> us) {
    std::sort(us.begin(), us.end());
    const size_t n = us.size();
    auto at = [&](double q) { const double x = q * double(n - 1); const size_t i = size_t(x); return i + 1 < n ? us[i] + (x - double(i)) * (us[i + 1] - us[i]) : us[i]; };
    double sum = 0, sq = 0;
    for (double t : us) sum += t;
    for (double t : us) sq += (t - sum / double(n)) * (t - sum / double(n));
    char b[512];
    std::snprintf(b, sizeof b, "\"median_us\":%.4f,\"mean_us\":%.4f,\"stddev_us\":%.4f,\"min_us\":%.4f,\"p10_us\":%.4f,\"p90_us\":%.4f,\"max_us\":%.4f",
                  at(0.5), sum / double(n), std::sqrt(sq / double(n)), us.front(), at(0.1), at(0.9), us.back());
    return b;
}

double median(std::vector<double> us) {
    std::sort(us.begin(), us.end());
    return us.size() % 2 ? us[us.size() / 2] : (us[us.size() / 2 - 1] + us[us.size() / 2]) / 2;
}

int number(const char *flag, const char *text, int least) {
    char *end = nullptr;
    const long v = text ? std::strtol(text, &end, 10) : 0;
    if (!text || *end || end == text || v < least || v > 10000000) throw Failure(2, std::string(flag) + " takes a whole number of at least " + std::to_string(least));
    return int(v);
}

Options parse(int argc, char **argv) {
    Options o;
    for (int i = 1; i < argc; i++) {
        const std::string a = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : nullptr;
        if (a == "--dir") { if (!next) throw Failure(2, "--dir takes a folder"); o.dir = next; i++; }
        else if (a == "--warmup") { o.warmup = number("--warmup", next, 0); i++; }
        else if (a == "--launches") { o.launches = number("--launches", next, 1); i++; }
        else if (a == "--device") { o.device = number("--device", next, 0); i++; }
        else if (a == "--repeat") { o.repeat = number("--repeat", next, 1); i++; }
        else if (a == "--save") { if (!next) throw Failure(2, "--save takes a folder"); o.save = next; i++; }
        else if (a == "--once") o.once = true;
        else if (a == "--no-verify") o.verify = false;
        else throw Failure(2, "unknown argument " + a + "; there are --dir, --warmup, --launches, --device, --repeat, --save, --once and --no-verify");
    }
    return o;
}

int work(const Options &o) {
    Plan p = readPlan(o.dir);
    const Device d = findDevice(o, p);
    load(p, o.dir);
    uint64_t inputs = 0;
    for (const Region &r : p.regions) if (!r.file.empty()) inputs += r.bytes;
    const size_t copies = p.rotate && inputs && !o.once ? size_t((p.rotate + inputs - 1) / inputs) : 1;
    std::vector<Buffers> sets;
    for (size_t i = 0; i < copies; i++) sets.push_back(upload(p, o.dir));
    runAll(p, sets[0]);
    check(hipDeviceSynchronize(), "the kernels");

    std::ostringstream out;
    out << "{\"kernel\":" << quoted(p.kernel) << ",\"dtype\":" << quoted(p.dtype)
        << ",\"device\":{\"name\":" << quoted(d.name) << ",\"arch\":" << quoted(d.arch) << ",\"cus\":" << d.cus << ",\"max_clock_mhz\":" << d.clockMHz << "}";
    bool wrong = false;
    if (o.verify && !p.expected.empty()) {
        const Verdict v = verify(p, o.dir, sets[0]);
        wrong = !(v.worst <= p.limit);
        out << ",\"verify\":{\"values\":" << v.values << ",\"max_relative_error\":";
        if (std::isinf(v.worst)) out << "null"; // JSON has no infinity
        else out << v.worst;
        out << ",\"limit\":" << p.limit << ",\"passed\":" << (wrong ? "false" : "true") << "}";
    }
    if (o.repeat > 0) repeat(p, sets[0], o.repeat);
    if (!o.save.empty()) save(p, sets[0], o.save);
    if (!o.once && o.repeat == 0) {
        const std::vector<double> us = timed(p, sets, o, 0, p.launches.size());
        out << ",\"protocol\":{\"warmup\":" << o.warmup << ",\"launches\":" << o.launches << ",\"input_sets\":" << copies << "}";
        out << ",\"time\":{" << stats(us) << "}";
        if (p.flops > 0) out << ",\"tflops\":" << p.flops / (median(us) * 1e6);
        if (p.bytes > 0) out << ",\"tbs\":" << p.bytes / (median(us) * 1e6);
        if (p.launches.size() > 1) {
            out << ",\"kernels\":[";
            for (size_t k = 0; k < p.launches.size(); k++)
                out << (k ? "," : "") << "{\"kernel\":" << quoted(p.launches[k].symbol) << "," << stats(timed(p, sets, o, k, k + 1)) << "}";
            out << "]";
        }
        out << ",\"times_us\":[";
        for (size_t i = 0; i < us.size(); i++) out << (i ? "," : "") << us[i];
        out << "]";
    }
    out << "}";
    std::printf("%s\n", out.str().c_str());
    if (wrong) throw Failure(1, p.kernel + ": the values differ from the reference by more than the limit");
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return work(parse(argc, argv));
    } catch (const Failure &f) {
        std::fprintf(stderr, "host: %s\n", f.what());
        return f.code;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "host: %s\n", e.what());
        return 1;
    }
}
