#include "made_up.hpp"

#include <elf.h>

#include <cstring>
#include <random>

#include "packer/pack.hpp"
#include "kernels/operations.hpp"

namespace rapt::archive {

using nlohmann::json;

json good_metadata(const Row& row) {
  const json kernel = {{".name", row.symbol()},
                       {".vgpr_count", 120},
                       {".agpr_count", 16},
                       {".sgpr_count", 40},
                       {".vgpr_spill_count", 0},
                       {".sgpr_spill_count", 0},
                       {".private_segment_fixed_size", 0},
                       {".group_segment_fixed_size", 16384},
                       {".kernarg_segment_size", find_operation(row.operation)->argument_size},
                       {".max_flat_workgroup_size", row.waves * 64},
                       {".wavefront_size", 64},
                       {".uses_dynamic_stack", false},
                       {".args", {{{".value_kind", "by_value"}, {".offset", 0}}}}};
  return {{"amdhsa.target", "amdgcn-amd-amdhsa--gfx942:xnack-"}, {"amdhsa.kernels", {kernel}}};
}

std::vector<std::byte> code_object(const json& metadata, size_t size) {
  const std::vector<uint8_t> document = json::to_msgpack(metadata);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 224;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  const Elf64_Nhdr note{7, static_cast<uint32_t>(document.size()), 32};
  constexpr char owner[8] = "AMDGPU";
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = sizeof note + sizeof owner + document.size();

  std::vector<std::byte> file;
  const auto put = [&](const void* data, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    file.insert(file.end(), begin, begin + bytes);
  };
  put(&header, sizeof header);
  put(&segment, sizeof segment);
  put(&note, sizeof note);
  put(owner, sizeof owner);
  put(document.data(), document.size());
  std::mt19937 random(static_cast<unsigned>(size));
  for (size_t i = 0; i < size; ++i) file.push_back(static_cast<std::byte>(random() & 255));
  return file;
}

std::vector<Row> good_rows() {
  return read_manifest(
      "manifest",
      "forward gfx942 dtype=bf16 head_dim=64 features=plain block_k=64 waves=4 waves_per_eu=2"
      " vgprs<=128 lds<=16384 occupancy>=4 p=nearest\n"
      "forward gfx942 dtype=fp16 head_dim=128 features=general block_k=32 waves=8 waves_per_eu=2 head_slices=2"
      " vgprs<=128 lds<=16384 occupancy>=4 p=truncated\n");
}

std::string good_archive() { return good_archive(good_rows()); }

std::string good_archive(const std::vector<Row>& rows) {
  Contents contents{"gfx942", "a compiler", "# tuning\n", {}};
  for (const Row& row : rows)
    contents.objects.push_back({row.name(), code_object(good_metadata(row), 1000 + static_cast<size_t>(row.head_dim))});
  return pack("manifest", rows, contents).file;
}

Cubin::Cubin() : argument_size(sizeof(rapt_forward_args)) {}

namespace {

using Bytes = std::vector<std::byte>;

template <class... Values>
void put(Bytes& bytes, const Values&... values) {
  const auto add = [&](const auto& value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
  };
  (add(values), ...);
}

// An attribute of .nv.info with 32-bit numbers.
template <class... Numbers>
void put_attribute(Bytes& bytes, uint8_t number, Numbers... numbers) {
  put(bytes, uint8_t{4}, number, static_cast<uint16_t>(4 * sizeof...(numbers)), static_cast<uint32_t>(numbers)...);
}

}  // namespace

std::vector<std::byte> code_object(const Cubin& c, size_t size) {
  Bytes info, own, text;
  put_attribute(info, 0x2f, 7, c.registers);
  put_attribute(info, 0x11, 7, c.stack);
  put_attribute(own, 0x05, c.threads, 1, 1);
  put(own, uint8_t{3}, uint8_t{0x19}, static_cast<uint16_t>(c.argument_size));
  for (const auto& [low, high] : c.code) put(text, low, high);
  std::mt19937 random(static_cast<unsigned>(size));
  for (size_t i = 0; i < size; ++i) text.push_back(static_cast<std::byte>(random() & 255));

  struct Section {
    std::string name;
    const Bytes* content;
    uint64_t size;
  };
  // Since sm_90 the section of static shared memory begins with the driver's 1024 bytes.
  const auto shared = static_cast<uint64_t>(c.static_shared + (c.processor >= 90 ? 1024 : 0));
  const Bytes nothing;
  std::vector<Section> sections = {{"", &nothing, 0},
                                   {".nv.info", &info, info.size()},
                                   {".nv.info." + c.kernel, &own, own.size()},
                                   {".text." + c.kernel, &text, text.size()},
                                   {".nv.shared." + c.kernel, &nothing, shared},
                                   {".nv.shared.reserved.0", &nothing, 64}};
  Bytes names;
  std::vector<Elf64_Shdr> headers;
  sections.push_back({".shstrtab", &names, 0});
  for (const Section& section : sections) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<uint32_t>(names.size());
    headers.push_back(header);
    for (const char letter : section.name) names.push_back(static_cast<std::byte>(letter));
    names.push_back(std::byte{0});
  }
  sections.back().size = names.size();

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = 190;
  header.e_flags = static_cast<uint32_t>(c.processor) << 8;
  header.e_shoff = sizeof header;
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
  uint64_t offset = sizeof header + sections.size() * sizeof(Elf64_Shdr);
  Bytes file;
  put(file, header);
  for (size_t i = 0; i < sections.size(); ++i) {
    headers[i].sh_offset = offset;
    headers[i].sh_size = sections[i].size;
    offset += sections[i].content->size();
    put(file, headers[i]);
  }
  for (const Section& section : sections) file.insert(file.end(), section.content->begin(), section.content->end());
  return file;
}

std::vector<Row> good_nvidia_rows() {
  return read_manifest("manifest",
                       "forward sm_90 dtype=bf16 head_dim=64 features=plain block_k=64 waves=4 query_tiles=2"
                       " waves_per_eu=2 registers<=128 shared=36864 occupancy>=4 p=nearest\n");
}

std::string good_nvidia_archive() {
  return pack("manifest", good_nvidia_rows(),
              {"sm_90", "a compiler", "", {{good_nvidia_rows()[0].name(), code_object(Cubin())}}})
      .file;
}

std::vector<Row> hopper_rows(const std::string& features, const std::string& tile) {
  return read_manifest("manifest", "forward_hopper sm_90 dtype=bf16 " + tile + " features=" + features +
                                       " registers<=168 shared=196608 occupancy>=3 p=nearest\n");
}

std::string hopper_archive(const std::vector<std::array<uint64_t, 2>>& code, const std::string& said,
                           const std::string& features, const std::string& tile) {
  const Row row = hopper_rows(features, tile)[0];
  Cubin cubin;
  cubin.kernel = row.symbol();
  cubin.threads = row.waves * 32;
  cubin.argument_size = sizeof(rapt_hopper_forward_scores_args);
  cubin.code = code;
  return pack("manifest", {row}, {"sm_90", "a compiler", "", {{row.name(), code_object(cubin, 0), 0, said}}}).file;
}

std::string hopper_split_archive() {
  const std::string common = " block_k=16 waves=4 waves_per_eu=2 registers<=168 occupancy>=2 p=nearest shared=";
  const std::vector<Row> rows =
      read_manifest("manifest", "split sm_90 dtype=bf16 head_dim=64 features=plain" + common + "65536\n" +
                                    "split_combine sm_90 dtype=fp32 head_dim=32 features=plain" + common + "2080\n");
  std::vector<Object> objects;
  for (const Row& row : rows) {
    Cubin cubin;
    cubin.kernel = row.symbol();
    cubin.threads = row.waves * 32;
    cubin.argument_size = sizeof(rapt_split_args);
    objects.push_back({row.name(), code_object(cubin, 0)});
  }
  return pack("manifest", rows, {"sm_90", "a compiler", "", std::move(objects)}).file;
}

std::string hopper_backward_archive() {
  const std::string common =
      " sm_90 dtype=bf16 head_dim=128 features=plain block_k=64 registers<=168 occupancy>=1 p=nearest";
  const std::string apart =
      " sm_90 dtype=bf16 head_dim=256 features=plain block_k=64 registers<=168 occupancy>=1 p=nearest waves=12 "
      "waves_per_eu=3 shared=1024\n";
  const std::vector<Row> rows =
      read_manifest("manifest", "backward_statistics_hopper" + common + " waves=12 waves_per_eu=3 shared=1024\n" +
                                    "backward_hopper" + common + " waves=12 waves_per_eu=3 shared=196608\n" +
                                    "backward_dq_round_hopper" + common + " waves=4 waves_per_eu=3 shared=0\n" +
                                    "backward_dq_hopper" + apart + "backward_dkv_hopper" + apart);
  std::vector<Object> objects;
  for (const Row& row : rows) {
    Cubin cubin;
    cubin.kernel = row.symbol();
    cubin.threads = row.waves * 32;
    cubin.argument_size = static_cast<int>(find_operation(row.operation)->argument_size);
    if (row.operation == "backward_dkv_hopper")  // as the gate lets no other kernel's exponentials be
      cubin.code = {instruction::product, instruction::wait_for_all, instruction::exponential};
    objects.push_back({row.name(), code_object(cubin, 0)});
  }
  return pack("manifest", rows, {"sm_90", "a compiler", "", std::move(objects)}).file;
}

}  // namespace rapt::archive
