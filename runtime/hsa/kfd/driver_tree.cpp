#include "runtime/hsa/kfd/driver_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "runtime/hsa/devices.h"

namespace wavejit::hsa {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr uint32_t kVendor = 0x1002;  // AMD

// Lines "name value", as the files named "properties" have them.
using Properties = std::vector<std::pair<const char*, uint64_t>>;
std::string lines(const Properties& properties) {
  std::string text;
  for (const auto& [name, value] : properties) text += fmt::format("{} {}\n", name, value);
  return text;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

class Tree {
 public:
  Tree(std::span<const Board> boards, const HostFacts& host) : boards_(boards), host_(host) {}

  std::vector<TreeEntry> make() {
    file("/sys/module/amdgpu/initstate", "live\n");
    file("/sys/module/amdgpu/version", "wavejit\n");
    file("/sys/module/amdgpu/refcnt", "0\n");
    // Devices that open for reading and writing, and know no ioctl.
    link("/dev/kfd", "/dev/null");
    file("/sys/class/kfd/kfd/dev", "1:3\n");
    topology();
    for (const std::string& name : host_.dri_devices) link("/dev/dri/" + name, "/dev/dri/" + name);
    for (const std::string& name : host_.drm_devices) link("/sys/class/drm/" + name, "/sys/class/drm/" + name);
    for (const std::string& name : host_.monitors) link("/sys/class/hwmon/" + name, "/sys/class/hwmon/" + name);
    for (const std::string& name : host_.pci_devices)
      link("/sys/bus/pci/devices/" + name, "/sys/bus/pci/devices/" + name);
    for (uint32_t i = 0; i < boards_.size(); ++i) pci_device(i);
    return std::move(entries_);
  }

 private:
  void file(std::string path, std::string content) {
    entries_.push_back({std::move(path), TreeEntry::Kind::file, std::move(content)});
  }
  void link(std::string path, std::string target) {
    entries_.push_back({std::move(path), TreeEntry::Kind::link, std::move(target)});
  }

  // The n-th number from `first` on whose device the host does not have.
  [[nodiscard]] uint32_t free_minor(const char* prefix, uint32_t first, uint32_t n) const {
    for (;; ++first) {
      const std::string name = fmt::format("{}{}", prefix, first);
      if (!has(host_.dri_devices, name) && !has(host_.drm_devices, name) && !has(host_.monitors, name) && n-- == 0)
        return first;
    }
  }
  [[nodiscard]] uint32_t card(uint32_t i) const { return free_minor("card", 0, i); }
  [[nodiscard]] uint32_t render_minor(uint32_t i) const { return free_minor("renderD", 128, i); }

  [[nodiscard]] uint64_t memory_bytes(const Board& board) const {
    return board.memory_mib == 0 ? host_.memory_bytes : uint64_t{board.memory_mib} << 20;
  }
  static uint64_t serial(const Board& board, uint32_t index) { return board.unique_id ? 0x77610000u + index : 0; }

  // `folder`: io_links are those of the bus, p2p_links those of two devices by way of it. Libraries take a device's io_link to
  // another device for XGMI (rocm_smi 5.7 ends the process otherwise).
  void link(const char* folder, uint32_t from, uint32_t number, uint32_t to) {
    file(fmt::format("{}/{}/{}/{}/properties", kNodes, from, folder, number),
         lines({{"type", 2},  // PCI Express
                {"version_major", 0},
                {"version_minor", 0},
                {"node_from", from},
                {"node_to", to},
                {"weight", from == 0 || to == 0 ? 20 : 40},
                {"min_latency", 0},
                {"max_latency", 0},
                {"min_bandwidth", 0},
                {"max_bandwidth", 0},
                {"recommended_transfer_size", 0},
                {"flags", 1}}));
  }
  // heap_type: 0 the host's memory, 1 a device's.
  void memory_bank(uint32_t node, uint32_t heap_type, uint64_t bytes, uint32_t width, uint32_t clock_mhz) {
    file(fmt::format("{}/{}/mem_banks/0/properties", kNodes, node), lines({{"heap_type", heap_type},
                                                                           {"size_in_bytes", bytes},
                                                                           {"flags", 0},
                                                                           {"width", width},
                                                                           {"mem_clk_max", clock_mhz}}));
  }

  void topology() {
    const auto gpus = static_cast<uint32_t>(boards_.size());
    file("/sys/class/kfd/kfd/topology/generation_id", "2\n");
    file("/sys/class/kfd/kfd/topology/system_properties",
         lines({{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}}));
    const std::string cpu = fmt::format("{}/0/", kNodes);
    file(cpu + "gpu_id", "0\n");
    file(cpu + "name", "\n");
    file(cpu + "properties", lines({{"cpu_cores_count", host_.cpus},
                                    {"simd_count", 0},
                                    {"mem_banks_count", 1},
                                    {"caches_count", 0},
                                    {"io_links_count", gpus},
                                    {"p2p_links_count", 0},
                                    {"cpu_core_id_base", 0},
                                    {"simd_id_base", 0},
                                    {"max_waves_per_simd", 0},
                                    {"lds_size_in_kb", 0},
                                    {"gds_size_in_kb", 0},
                                    {"num_gws", 0},
                                    {"wave_front_size", 0},
                                    {"array_count", 0},
                                    {"simd_arrays_per_engine", 0},
                                    {"cu_per_simd_array", 0},
                                    {"simd_per_cu", 0},
                                    {"max_slots_scratch_cu", 0},
                                    {"gfx_target_version", 0},
                                    {"vendor_id", 0},
                                    {"device_id", 0},
                                    {"location_id", 0},
                                    {"domain", 0},
                                    {"drm_render_minor", 0},
                                    {"hive_id", 0}}));
    memory_bank(0, 0, host_.memory_bytes, 64, 0);
    for (uint32_t i = 0; i < gpus; ++i) link("io_links", 0, i, i + 1);
    uint32_t simds = 0;
    for (uint32_t i = 0; i < gpus; ++i) {
      gpu_node(i, 0x80001000 + simds);
      simds += boards_[i].compute_units * boards_[i].simds_per_cu;
    }
  }

  void gpu_node(uint32_t i, uint32_t simd_id_base) {
    const Board& b = boards_[i];
    const uint32_t node = i + 1, arrays = b.shader_engines * b.arrays_per_engine;
    const std::string folder = fmt::format("{}/{}/", kNodes, node);
    // capability: queue and event based on user mode, 4 watch points, ASIC revision (bits 22 to 25), ECC (26).
    const uint32_t capability =
        0x80 | 2u << 8 | 2u << 12 | b.revision << 22 | (b.sramecc == codeobject::FeatureSetting::on ? 1u << 26 : 0);
    const uint32_t caches = caches_of(node, b, simd_id_base);
    file(folder + "gpu_id", fmt::format("{}\n", 0x7700 + node));
    file(folder + "name", b.asic + "\n");
    file(folder + "properties", lines({{"cpu_cores_count", 0},
                                       {"simd_count", b.compute_units * b.simds_per_cu},
                                       {"mem_banks_count", 1},
                                       {"caches_count", caches},
                                       {"io_links_count", 1},
                                       {"p2p_links_count", boards_.size() - 1},
                                       {"cpu_core_id_base", 0},
                                       {"simd_id_base", simd_id_base},
                                       {"max_waves_per_simd", b.waves_per_simd},
                                       {"lds_size_in_kb", b.lds_kib},
                                       {"gds_size_in_kb", 0},
                                       {"num_gws", gfx_version(b.processor).major >= 9 ? 64 : 0},
                                       {"wave_front_size", 64},
                                       {"array_count", arrays},
                                       {"simd_arrays_per_engine", b.arrays_per_engine},
                                       {"cu_per_simd_array", (b.compute_units + arrays - 1) / arrays},
                                       {"simd_per_cu", b.simds_per_cu},
                                       {"max_slots_scratch_cu", 32},
                                       {"gfx_target_version", gfx_version(b.processor).packed()},
                                       {"vendor_id", kVendor},
                                       {"device_id", b.chip_id},
                                       {"location_id", node << 8},
                                       {"domain", 0},
                                       {"drm_render_minor", render_minor(i)},
                                       {"hive_id", 0},
                                       {"num_sdma_engines", 2},
                                       {"num_sdma_xgmi_engines", 0},
                                       {"num_sdma_queues_per_engine", 8},
                                       {"num_cp_queues", 24},
                                       {"max_engine_clk_fcompute", b.clock_mhz},
                                       {"local_mem_size", 0},  // as the driver has it, too: mem_banks has it
                                       {"fw_version", 0},
                                       {"capability", capability},
                                       {"debug_prop", 0},
                                       {"sdma_fw_version", 0},
                                       {"unique_id", serial(b, i)},
                                       {"num_xcc", b.xccs},
                                       {"max_engine_clk_ccompute", 0}}));
    memory_bank(node, 1, memory_bytes(b), b.memory_bus_bits, b.memory_clock_mhz);
    link("io_links", node, 0, 0);
    for (uint32_t other = 1, number = 0; other <= boards_.size(); ++other)
      if (other != node) link("p2p_links", node, number++, other);
  }

  // One entry for each level, where the driver has one for each compute unit. Returns how many.
  uint32_t caches_of(uint32_t node, const Board& b, uint32_t simd_id_base) {
    uint32_t count = 0;
    for (const auto& [level, kib] : {std::pair{1u, b.l1_kib}, {2u, b.l2_kib}, {3u, b.l3_kib}}) {
      if (kib == 0) continue;
      file(fmt::format("{}/{}/caches/{}/properties", kNodes, node, count++),
           lines({{"processor_id_low", simd_id_base},
                  {"level", level},
                  {"size", kib},
                  {"cache_line_size", b.cache_line_bytes},
                  {"cache_lines_per_tag", 1},
                  {"association", 0},
                  {"latency", 0},
                  {"type", 9}}) +  // data, of SIMDs
               "sibling_map 1\n");
    }
    return count;
  }

  void pci_device(uint32_t i) {
    const Board& b = boards_[i];
    // Bus i + 1, as HSA_AMD_AGENT_INFO_BDFID has it.
    const std::string slot = fmt::format("0000:{:02x}:00.0", i + 1), folder = "/sys/devices/wavejit/" + slot + "/";
    file(folder + "vendor", fmt::format("{:#06x}\n", kVendor));
    file(folder + "device", fmt::format("{:#06x}\n", b.chip_id));
    file(folder + "subsystem_vendor", fmt::format("{:#06x}\n", kVendor));
    file(folder + "subsystem_device", "0x0000\n");
    file(folder + "revision", fmt::format("{:#04x}\n", b.pci_revision));
    file(folder + "class", "0x038000\n");  // display controller
    file(folder + "irq", "0\n");
    file(folder + "numa_node", "-1\n");
    file(folder + "enable", "1\n");
    file(folder + "product_name", b.name + "\n");
    file(folder + "vbios_version", "113-WAVEJIT-000\n");  // rocm_smi 5.2 counts no device without
    file(folder + "mem_info_vram_total", fmt::format("{}\n", memory_bytes(b)));
    file(folder + "mem_info_vram_used", "0\n");
    file(folder + "gpu_busy_percent", "0\n");
    file(folder + "current_link_width", "16\n");
    file(folder + "pp_dpm_sclk", fmt::format("0: {}Mhz *\n", b.clock_mhz));  // one level, which is chosen
    file(folder + "pp_dpm_mclk", fmt::format("0: {}Mhz *\n", b.memory_clock_mhz));
    if (serial(b, i) != 0) file(folder + "unique_id", fmt::format("{:016x}\n", serial(b, i)));
    file(folder + "uevent", fmt::format("DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID={:04X}:{:04X}\nPCI_SLOT_NAME={}\n",
                                        kVendor, b.chip_id, slot));
    std::string resources;
    for (int line = 0; line < 13; ++line) resources += "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    file(folder + "resource", resources);
    // The first 64 bytes of the configuration space.
    std::string config(64, '\0');
    const auto put = [&](size_t at, uint32_t value, size_t bytes) {
      for (size_t k = 0; k < bytes; ++k) config[at + k] = static_cast<char>(value >> 8 * k);
    };
    put(0, kVendor, 2);
    put(2, b.chip_id, 2);
    put(8, b.pci_revision | 0x038000 << 8, 4);
    put(0x2c, kVendor, 2);
    file(folder + "config", config);
    if (!has(host_.pci_devices, slot)) link("/sys/bus/pci/devices/" + slot, "../../../devices/wavejit/" + slot);

    for (const auto& [prefix, number] : {std::pair{"card", card(i)}, {"renderD", render_minor(i)}}) {
      const std::string name = fmt::format("{}{}", prefix, number), drm = folder + "drm/" + name + "/";
      link("/dev/dri/" + name, "/dev/null");
      file(drm + "dev", fmt::format("226:{}\n", number));
      file(drm + "uevent", fmt::format("MAJOR=226\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n", number, name));
      link(drm + "device", "../../../" + slot);
      link("/sys/class/drm/" + name, fmt::format("../../devices/wavejit/{}/drm/{}", slot, name));
    }
    monitor(i, slot);
  }

  // Of a device whose sensors have no values. rocm_smi 5.2 ends the process if it asks for a temperature and finds no
  // monitor, and finds no device if a monitor does not name its voltage.
  void monitor(uint32_t i, const std::string& slot) {
    const std::string name = fmt::format("hwmon{}", free_minor("hwmon", 0, i));
    const std::string below = fmt::format("devices/wavejit/{}/hwmon/{}", slot, name);
    file(fmt::format("/sys/{}/name", below), "amdgpu\n");
    file(fmt::format("/sys/{}/in0_label", below), "vddgfx\n");
    link(fmt::format("/sys/{}/device", below), "../../../" + slot);
    link("/sys/class/hwmon/" + name, "../../" + below);
  }

  std::span<const Board> boards_;
  const HostFacts& host_;
  std::vector<TreeEntry> entries_;
};

std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// FNV-1a: directories of different content have different names.
uint64_t hash_of(std::span<const TreeEntry> entries) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0x100) * 0x100000001b3;  // no character
  };
  for (const TreeEntry& e : entries) {
    add(e.path);
    add(e.kind == TreeEntry::Kind::file ? "f" : "l");
    add(e.content);
  }
  return hash;
}

[[noreturn]] void fail(const char* what, const fs::path& path) {
  throw fs::filesystem_error(what, path, std::error_code(errno, std::generic_category()));
}

}  // namespace

HostFacts HostFacts::read() {
  struct sysinfo info{};
  sysinfo(&info);
  HostFacts facts{.cpus = static_cast<uint32_t>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN))),
                  .memory_bytes = uint64_t{info.totalram} * info.mem_unit};
  facts.dri_devices = names_in("/dev/dri");
  facts.drm_devices = names_in("/sys/class/drm");
  facts.monitors = names_in("/sys/class/hwmon");
  facts.pci_devices = names_in("/sys/bus/pci/devices");
  return facts;
}

std::vector<TreeEntry> driver_tree(std::span<const Board> boards, const HostFacts& host) {
  return Tree(boards, host).make();
}

fs::path write_tree(const fs::path& parent, std::span<const TreeEntry> entries) {
  const fs::path tree = parent / fmt::format("driver-{:016x}", hash_of(entries));
  struct stat status{};
  if (lstat(tree.c_str(), &status) == 0) {
    // A directory that belongs to others could say anything.
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
      errno = EPERM;
      fail("not a directory of this user", tree);
    }
    return tree;
  }
  fs::create_directories(parent);
  std::string name = (parent / "driver-new-XXXXXX").string();
  if (!mkdtemp(name.data())) fail("cannot create a directory", name);
  const fs::path draft = name;
  try {
    for (const TreeEntry& entry : entries) {
      const fs::path path = draft / entry.path.substr(1);
      fs::create_directories(path.parent_path());
      if (entry.kind == TreeEntry::Kind::link) {
        fs::create_symlink(entry.content, path);
        continue;
      }
      std::ofstream file(path, std::ios::binary);
      file << entry.content;
      file.close();
      if (!file) fail("cannot write", path);
      fs::permissions(path, fs::perms(0444));
    }
    // Another process may have been quicker.
    if (rename(draft.c_str(), tree.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST) fail("cannot rename", draft);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(draft, ignored);
    throw;
  }
  std::error_code ignored;
  fs::remove_all(draft, ignored);
  return tree;
}

}  // namespace wavejit::hsa
