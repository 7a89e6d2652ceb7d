// The library's reader: a good archive gives back its kernels, and each kind of damage has its own error.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "kernels/archive_format.hpp"
#include "packer/pack.hpp"
#include "gpu/archive.hpp"
#include "tests/packer/made_up.hpp"
#include "base/error.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using rapt::archive::crc32;
using rapt::archive::good_archive;
using rapt::archive::Header;
using rapt::gpu::Archive;

std::vector<std::byte> code_of(const rapt::archive::Row& row) {
  return rapt::archive::code_object(good_metadata(row), 1000 + static_cast<size_t>(row.head_dim));
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

const rapt::gpu::Variant* variant_of(const Archive& archive, std::string_view name) {
  for (const auto& variant : archive.variants())
    if (variant.name == name) return &variant;
  return nullptr;
}

Header header_of(const std::string& file) {
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  return header;
}

std::string with_header(std::string file, const std::function<void(Header&)>& change) {
  Header header = header_of(file);
  change(header);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

std::string with_index_text(const std::string& file, const std::string& index) {
  return with_header(file.substr(0, header_of(file).index_offset) + index, [&](Header& header) {
    header.index_size = index.size();
    header.index_crc32 = crc32(index.data(), index.size());
  });
}

std::string with_index(const std::string& file, const std::function<void(json&)>& change) {
  json index = json::parse(file.substr(header_of(file).index_offset));
  change(index);
  return with_index_text(file, index.dump());
}

std::string compressed(const std::vector<std::byte>& content, int checksum, int content_size) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, content_size);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size()));
  ZSTD_freeCCtx(context);
  return frame;
}

// The error of reading a whole archive; "" if nothing is wrong.
std::string error_of(const std::string& file) {
  try {
    const Archive archive = Archive::view("a.rapt", bytes_of(file));
    for (const auto& variant : archive.variants()) archive.code(variant);
  } catch (const rapt::Error& e) {
    return e.what();
  }
  return "";
}

std::string error_with_kernel(const char* key, const json& value) {
  return error_of(with_index(good_archive(), [&](json& index) { index["kernels"][0][key] = value; }));
}

// Kernels of another version's operations or arguments are listed, but this library cannot launch them.
TEST(ArchiveReader, KernelsOfAnotherVersionAreNotKnown) {
  const auto known = [](const char* key, const json& value) {
    const std::string file = with_index(good_archive(), [&](json& index) { index["kernels"][0][key] = value; });
    return Archive::view("a.rapt", bytes_of(file)).variants()[0].known != nullptr;
  };
  const std::string good = good_archive();
  const int32_t bytes = Archive::view("a.rapt", bytes_of(good)).variants()[0].argument_size;
  EXPECT_TRUE(known("argument_size", bytes));
  EXPECT_FALSE(known("argument_size", bytes - 8));
  EXPECT_FALSE(known("operation", "something_else"));
}

TEST(ArchiveReader, GivesBackWhatWasPacked) {
  const std::string file = good_archive();
  const Archive archive = Archive::view("a.rapt", bytes_of(file));
  EXPECT_EQ(archive.path(), "a.rapt");
  EXPECT_EQ(archive.vendor(), "amd");
  EXPECT_EQ(archive.arch(), "gfx942");
  EXPECT_EQ(archive.compiler(), "a compiler");
  EXPECT_EQ(archive.tuning(), "# tuning\n");
  ASSERT_EQ(archive.variants().size(), 2U);
  const auto* v = variant_of(archive, "forward.d128.fp16.general.k32w8s2");
  ASSERT_NE(v, nullptr);
  EXPECT_EQ(v->operation, "forward");
  EXPECT_EQ(v->symbol, "forward_d128_fp16_general_k32w8s2");
  EXPECT_EQ(v->features, "general");
  EXPECT_EQ(v->p, "truncated");
  EXPECT_EQ(v->dtype, rapt::DType::fp16);
  EXPECT_EQ(v->head_dim, 128);
  EXPECT_EQ(v->block_q, 128);
  EXPECT_EQ(v->block_k, 32);
  EXPECT_EQ(v->waves, 8);
  EXPECT_EQ(v->threads, 512);
  EXPECT_EQ(v->registers, 120);
  EXPECT_EQ(v->shared_memory, 16384);
  EXPECT_EQ(v->spills, 0);
  EXPECT_EQ(v->amd.agprs, 16);
  EXPECT_EQ(v->amd.sgprs, 40);
  EXPECT_EQ(v->amd.occupancy, 4);
  EXPECT_EQ(v->offset % 64, 0U);
  for (const auto& row : rapt::archive::good_rows())
    EXPECT_EQ(archive.code(*variant_of(archive, row.name())), code_of(row));
}

TEST(ArchiveReader, TheBytesDependOnTheContentsAlone) {
  using namespace rapt::archive;
  Contents contents{"gfx942", "a compiler", "# tuning\n", {}};
  for (const Row& row : good_rows()) contents.objects.insert(contents.objects.begin(), {row.name(), code_of(row)});
  EXPECT_EQ(pack("manifest", good_rows(), contents).file, good_archive());
}

TEST(ArchiveReader, KernelsOfAnOperationShareAFrame) {
  const std::string file = good_archive();
  const Archive archive = Archive::view("a.rapt", bytes_of(file));
  const auto &first = archive.variants()[0], &second = archive.variants()[1];
  EXPECT_EQ(first.offset, second.offset);
  EXPECT_EQ(second.start, first.size);
  EXPECT_EQ(second.frame_size, first.size + second.size);
  auto rows = rapt::archive::good_rows();
  rows[0].operation = "forward_wide";
  const std::string apart = good_archive(rows);
  const Archive other = Archive::view("a.rapt", bytes_of(apart));
  EXPECT_NE(other.variants()[0].offset, other.variants()[1].offset);
  EXPECT_EQ(error_of(apart), "");
}

// Version 2 had a frame for each kernel.
TEST(ArchiveReader, ReadsVersion2) {
  const std::string file = good_archive();
  json index = json::parse(file.substr(header_of(file).index_offset));
  std::string older = file.substr(0, 64);
  for (const auto& row : rapt::archive::good_rows()) {
    json& k = *std::ranges::find(index["kernels"], json(row.name()), [](const json& e) { return e["name"]; });
    k.erase("frame_size");
    k.erase("start");
    const std::string frame = compressed(code_of(row), 1, 1);
    k["offset"] = older.size();
    k["stored_size"] = frame.size();
    older += frame;
    older.resize((older.size() + 63) / 64 * 64);
  }
  older = with_header(older, [&](Header& h) {
    h.version = 2;
    h.index_offset = older.size();
  });
  older = with_index_text(older, index.dump());
  const Archive archive = Archive::view("a.rapt", bytes_of(older));
  for (const auto& row : rapt::archive::good_rows())
    EXPECT_EQ(archive.code(*variant_of(archive, row.name())), code_of(row));
}

TEST(ArchiveReader, ReadsWhatTritonsKernelsAssume) {
  const json good = {{"given_shared_memory", 8192},
                     {"exact_head_dim", true},
                     {"alignment", 16},
                     {"row_stride_below", rapt::archive::kTritonRowStride}};
  const auto with = [&](const json& triton) {
    return with_index(good_archive(), [&](json& index) { index["kernels"][0]["triton"] = triton; });
  };
  const std::string file = with(good);
  const Archive archive = Archive::view("a.rapt", bytes_of(file));
  EXPECT_TRUE(archive.variants()[0].by_triton());
  EXPECT_EQ(archive.variants()[0].triton.given_shared_memory, 8192);
  EXPECT_EQ(archive.variants()[0].triton.alignment, 16);
  EXPECT_FALSE(archive.variants()[1].by_triton());
  const auto error = [&](const char* key, const json& value) {
    json triton = good;
    triton[key] = value;
    return error_of(with(triton));
  };
  const std::string where = "a.rapt: kernel 0 of the index: \"triton\" has ";
  EXPECT_EQ(error("exact_head_dim", false), where + "an \"exact_head_dim\" that is not true");
  for (const char* key : {"alignment", "given_shared_memory", "row_stride_below"})
    EXPECT_TRUE(error(key, -1).starts_with(where)) << key << ": " << error(key, -1);
  for (const char* key : {"alignment", "given_shared_memory"})
    EXPECT_TRUE(error(key, 1 << 21).starts_with(where)) << key << ": " << error(key, 1 << 21);
}

TEST(ArchiveReader, ReadsWhichKernelsWait) {
  const auto with = [&](const json& waits) {
    return with_index(good_archive(), [&](json& index) { index["kernels"][0]["waits"] = waits; });
  };
  const std::string file = with(true);
  const Archive archive = Archive::view("a.rapt", bytes_of(file));
  EXPECT_TRUE(archive.variants()[0].waits);
  EXPECT_FALSE(archive.variants()[1].waits);
  EXPECT_EQ(error_of(with(false)), "a.rapt: kernel 0 of the index has \"waits\" that is not true");
}

TEST(ArchiveReader, EveryTruncationIsAnError) {
  const std::string file = good_archive();
  for (size_t size = 0; size < file.size(); size += size < 64 ? 1 : 37) {
    const std::string error = error_of(file.substr(0, size));
    EXPECT_TRUE(error.starts_with("a.rapt: ")) << size << ": " << error;
  }
  EXPECT_NE(error_of(file + "x").find("it is truncated, or something was appended"), std::string::npos);
}

// A flip in padding, or in the few bits that zstd ignores, changes nothing that is read.
TEST(ArchiveReader, AFlippedBitIsAnErrorOrChangesNothing) {
  const std::string file = good_archive();
  size_t harmless = 0;
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    const std::string error = error_of(damaged);
    if (!error.empty()) {
      EXPECT_TRUE(error.starts_with("a.rapt: ")) << "byte " << i << ": " << error;
      continue;
    }
    ++harmless;
    const Archive archive = Archive::view("a.rapt", bytes_of(damaged));
    for (const auto& row : rapt::archive::good_rows())
      EXPECT_EQ(archive.code(*variant_of(archive, row.name())), code_of(row)) << "byte " << i;
  }
  EXPECT_LT(harmless, 150U);
}

TEST(ArchiveReader, DamageToTheHeaderIsNamed) {
  const std::string file = good_archive();
  EXPECT_EQ(error_of("RAPT"), "a.rapt: has 4 bytes, too few for the header of a kernel archive");
  EXPECT_EQ(error_of(std::string(100, 'x')), "a.rapt: not a kernel archive");
  EXPECT_EQ(error_of(with_header(file, [](Header& h) { h.version = 4; })),
            "a.rapt: is a kernel archive of version 4, this Rapt reads versions 2 to 3");
  EXPECT_EQ(error_of(with_header(file, [](Header& h) { h.version = 1; })),
            "a.rapt: is a kernel archive of version 1, this Rapt reads versions 2 to 3: rebuild it from its sources");
  EXPECT_EQ(error_of(with_header(file, [](Header& h) { h.index_crc32 ^= 1; })), "a.rapt: the index's CRC32 is wrong");
  EXPECT_EQ(error_of(with_header(file, [](Header& h) { h.index_size = 1ULL << 40; })),
            "a.rapt: the header says that the index has 1099511627776 bytes, at most 16777216 are allowed");
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}})
    EXPECT_NE(error_of(with_header(file, [&](Header& h) { h.index_offset = offset; })).find("it is truncated"),
              std::string::npos);
}

TEST(ArchiveReader, DamageToTheIndexIsNamed) {
  const std::string file = good_archive();
  const auto error = [&](const std::function<void(json&)>& change) { return error_of(with_index(file, change)); };
  EXPECT_TRUE(error_of(with_index_text(file, "{")).starts_with("a.rapt: the index is not JSON: "));
  EXPECT_EQ(error_of(with_index_text(file, "[]")), "a.rapt: the index is not an object");
  EXPECT_TRUE(error_of(with_index_text(file, std::string(100000, '['))).starts_with("a.rapt: the index is not JSON: "));
  EXPECT_EQ(error([](json& i) { i.erase("arch"); }), "a.rapt: the index has no \"arch\"");
  EXPECT_EQ(error([](json& i) { i["arch"] = "../x"; }),
            "a.rapt: the index has a \"arch\" that is not a name of letters, digits, '.', '_' and '-'");
  EXPECT_EQ(error([](json& i) { i["vendor"] = "someone"; }),
            "a.rapt: has kernels for GPUs of the vendor someone, this Rapt knows those of amd and nvidia");
  EXPECT_EQ(error([](json& i) { i["kernels"][1].erase("amd"); }), "a.rapt: kernel 1 of the index has no \"amd\"");
  EXPECT_EQ(error([](json& i) { i["kernels"][1]["amd"].erase("sgprs"); }),
            "a.rapt: kernel 1 of the index: \"amd\" has no \"sgprs\"");
  EXPECT_EQ(error([](json& i) { i["compiler"] = "\x1b[2J"; }),
            "a.rapt: the index has a \"compiler\" that is not printable text");
  EXPECT_EQ(error([](json& i) { i["kernels"] = 3; }), "a.rapt: the index has \"kernels\" that are not an array");
  EXPECT_EQ(error([](json& i) { i["kernels"][1] = 3; }), "a.rapt: kernel 1 of the index is not an object");
  const std::string overlap =
      "a.rapt: kernels forward.d128.fp16.general.k32w8s2 and forward.d64.bf16.plain.k64w4 overlap in the file";
  EXPECT_EQ(error([](json& i) { i["kernels"][1]["start"] = 100; }), overlap);
  EXPECT_EQ(error([](json& i) { i["kernels"][0]["stored_size"] = 100; }), overlap);
  EXPECT_EQ(error([](json& i) { i["kernels"][0]["frame_size"] = 5000; }), overlap);
  EXPECT_EQ(error([](json& i) { i["kernels"][1]["offset"] = 128, i["kernels"][1]["stored_size"] = 100; }), overlap);
  EXPECT_EQ(
      error([](json& i) { i["kernels"][1]["name"] = i["kernels"][0]["name"]; }),
      "a.rapt: kernels forward.d128.fp16.general.k32w8s2 and forward.d128.fp16.general.k32w8s2 have the same name");
}

TEST(ArchiveReader, AKernelsWrongEntryIsNamed) {
  const std::string kernel = "a.rapt: kernel 0 of the index has ";
  EXPECT_EQ(error_with_kernel("dtype", "fp8"), kernel + "\"dtype\" \"fp8\", must be fp16, bf16 or fp32");
  EXPECT_EQ(error_with_kernel("name", 3), kernel + "a \"name\" that is not a string");
  EXPECT_EQ(error_with_kernel("waves", -1), kernel + "a \"waves\" that is not a whole number");
  EXPECT_EQ(error_with_kernel("waves", 1.5), kernel + "a \"waves\" that is not a whole number");
  EXPECT_EQ(error_with_kernel("waves", 64), kernel + "\"waves\" 64, must be 1 to 32");
  EXPECT_EQ(error_with_kernel("threads", 100), kernel + "100 threads in 8 waves, must be 32 or 64 per wave");
  EXPECT_EQ(error_with_kernel("offset", 65), kernel + "\"offset\" 65, must be a multiple of 64");
  EXPECT_TRUE(error_with_kernel("offset", ~uint64_t{0}).starts_with(kernel + "\"offset\" 18446744073709551615, must"));
  EXPECT_TRUE(
      error_with_kernel("stored_size", ~uint64_t{0}).starts_with(kernel + "\"stored_size\" 18446744073709551615"));
  EXPECT_EQ(error_with_kernel("size", 1ULL << 40), kernel + "\"size\" 1099511627776, must be 1 to 67108864");
  EXPECT_TRUE(error_with_kernel("frame_size", 10).starts_with(kernel + "\"frame_size\" 10, must be "));
  EXPECT_TRUE(error_with_kernel("start", 1 << 20).starts_with(kernel + "\"start\" 1048576, must be 0 to "));
}

TEST(ArchiveReader, DamageToTheCodeIsNamed) {
  const std::string file = good_archive();
  const std::string kernel = "a.rapt: kernel forward.d128.fp16.general.k32w8s2: ";
  EXPECT_EQ(error_with_kernel("crc32", 1), kernel + "the code object's CRC32 is wrong");
  const json index = json::parse(file.substr(header_of(file).index_offset));
  const uint64_t stored = index["kernels"][0]["stored_size"], size = index["kernels"][0]["frame_size"];
  const auto error_with_frame = [&](const std::string& other, const char* key, uint64_t value) {
    return error_of(with_index(other, [&](json& i) {
      for (json& k : i["kernels"]) k[key] = value;
    }));
  };
  EXPECT_TRUE(error_with_frame(file, "frame_size", 5000).starts_with(kernel + "the zstd frame holds "));
  EXPECT_TRUE(error_with_frame(file, "stored_size", 100).starts_with(kernel + "the zstd frame is damaged: "));
  EXPECT_TRUE(error_with_frame(file, "stored_size", stored - 1).starts_with(kernel + "the zstd frame is damaged: "));
  std::string longer = file;
  longer.insert(64 + stored, "x");
  longer = with_header(longer, [](Header& h) { ++h.index_offset; });
  EXPECT_TRUE(error_with_frame(longer, "stored_size", stored + 1).starts_with(kernel + "the zstd frame ends after "));

  // In place of the kernels, a frame that zstd itself takes.
  const auto replaced = [&](const std::string& frame) {
    std::string other = file;
    other.replace(64, frame.size(), frame);
    return error_with_frame(other, "stored_size", frame.size());
  };
  const std::vector<std::byte> zeros(size);
  EXPECT_EQ(replaced(compressed(zeros, 1, 1)), kernel + "the code object's CRC32 is wrong");
  EXPECT_EQ(replaced(compressed(zeros, 0, 1)), kernel + "the zstd frame has no content checksum");
  EXPECT_EQ(replaced(compressed(zeros, 1, 0)), kernel + "the zstd frame does not say its size");
  EXPECT_EQ(replaced("no frame"), kernel + "not a zstd frame");
}

TEST(ArchiveReader, ACopyOfAVariantIsRefused) {
  const std::string file = good_archive();
  const Archive archive = Archive::view("a.rapt", bytes_of(file));
  rapt::gpu::Variant copy = archive.variants()[0];
  copy.offset = 1ULL << 40;
  EXPECT_THROW(archive.code(copy), rapt::Error);
}

class ArchiveSearch : public ::testing::Test {
 protected:
  ArchiveSearch() : folder_(fs::temp_directory_path() / ("rapt_archive_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "second");
    write("gfx942.rapt");
    write("second/gfx942.rapt");
    write("second/gfx1100.rapt");
    write("second/notes.txt");
  }
  ~ArchiveSearch() override {
    unsetenv("RAPT_KERNEL_PATH");
    fs::remove_all(folder_);
  }
  void write(const char* name) const { std::ofstream(folder_ / name, std::ios::binary) << good_archive(); }
  std::string at(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(ArchiveSearch, FirstPlaceWins) {
  setenv("RAPT_KERNEL_PATH", (folder_.string() + ":" + at("second")).c_str(), 1);
  EXPECT_EQ(rapt::gpu::find_archive("gfx942"), at("gfx942.rapt"));
  EXPECT_EQ(rapt::gpu::find_archive("gfx1100"), at("second/gfx1100.rapt"));
  EXPECT_EQ(rapt::gpu::find_archive("gfx942", at("second")), at("second/gfx942.rapt"));
  EXPECT_EQ(rapt::gpu::find_archive("gfx942", at("second/gfx1100.rapt")), at("second/gfx1100.rapt"));
  const auto all = rapt::gpu::find_archives();
  ASSERT_GE(all.size(), 2U);  // others may be next to the library
  EXPECT_EQ(all[0], at("gfx942.rapt"));
  EXPECT_EQ(all[1], at("second/gfx1100.rapt"));
  EXPECT_EQ(Archive::open(all[0]).arch(), "gfx942");
}

TEST_F(ArchiveSearch, AMissingArchiveSaysWhereItLooked) {
  try {
    rapt::gpu::find_archive("gfx908", at("second"));
    FAIL();
  } catch (const rapt::Error& e) {
    EXPECT_EQ(e.status(), RAPT_UNSUPPORTED);
    EXPECT_EQ(std::string(e.what()), "no kernel archive gfx908.rapt in " + at("second") +
                                         "; there is one for gfx1100, gfx942. If Rapt has kernels for "
                                         "gfx908, a wheel that has it can be installed, or `make archives "
                                         "ARCHS=gfx908` builds it; RAPT_KERNEL_PATH can name its folder");
  }
}

TEST_F(ArchiveSearch, WhatIsNoFileIsNamed) {
  const auto error = [](const std::string& path) -> std::string {
    try {
      Archive::open(path);
    } catch (const rapt::Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("/nowhere/x.rapt"), "/nowhere/x.rapt: cannot open: No such file or directory");
  EXPECT_EQ(error("/dev/null"), "/dev/null: not a regular file");
  EXPECT_EQ(error(folder_.string()), folder_.string() + ": not a regular file");
}

}  // namespace
