//===- GgufModelTest.cpp - GGUF files as Hugging Face checkpoints --------===//

#include "fixture.h"
#include "gguf_writer.h"

#include "runtime/weights/cache.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/gguf_model.h"
#include "runtime/weights/gguf_names.h"

#include <gtest/gtest.h>

namespace baton::test {
namespace {

struct Named {
  const char *architecture, *stored, *name;
  enum { Plain, Paired, Flipped, PlusOne, Heads } how = Plain;
};

TEST(GgufNames, AreThoseOfHuggingFace) {
  const Named cases[] = {
      {"llama", "token_embd.weight", "model.embed_tokens.weight"},
      {"llama", "output_norm.weight", "model.norm.weight"},
      {"llama", "output.weight", "lm_head.weight"},
      {"llama", "rope_freqs.weight", "rope_freqs.weight"},
      {"llama", "blk.0.attn_norm.weight",
       "model.layers.0.input_layernorm.weight"},
      {"llama", "blk.12.attn_q.weight",
       "model.layers.12.self_attn.q_proj.weight", Named::Paired},
      {"llama", "blk.0.attn_q.bias", "model.layers.0.self_attn.q_proj.bias",
       Named::Paired},
      {"llama", "blk.0.attn_k.weight", "model.layers.0.self_attn.k_proj.weight",
       Named::Paired},
      {"llama", "blk.0.attn_v.weight",
       "model.layers.0.self_attn.v_proj.weight"},
      {"llama", "blk.0.attn_output.weight",
       "model.layers.0.self_attn.o_proj.weight"},
      {"llama", "blk.0.ffn_norm.weight",
       "model.layers.0.post_attention_layernorm.weight"},
      {"llama", "blk.0.ffn_gate.weight", "model.layers.0.mlp.gate_proj.weight"},
      {"llama", "blk.0.ffn_up.weight", "model.layers.0.mlp.up_proj.weight"},
      {"llama", "blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight"},
      {"qwen2", "blk.3.attn_q.bias", "model.layers.3.self_attn.q_proj.bias"},
      {"qwen2", "blk.3.attn_q.weight",
       "model.layers.3.self_attn.q_proj.weight"},
      {"qwen3", "blk.3.attn_q_norm.weight",
       "model.layers.3.self_attn.q_norm.weight"},
      {"qwen3", "blk.3.attn_k_norm.weight",
       "model.layers.3.self_attn.k_norm.weight"},
      {"gemma2", "blk.1.attn_norm.weight",
       "model.layers.1.input_layernorm.weight", Named::PlusOne},
      {"gemma2", "blk.1.post_attention_norm.weight",
       "model.layers.1.post_attention_layernorm.weight", Named::PlusOne},
      {"gemma2", "blk.1.ffn_norm.weight",
       "model.layers.1.pre_feedforward_layernorm.weight", Named::PlusOne},
      {"gemma2", "blk.1.post_ffw_norm.weight",
       "model.layers.1.post_feedforward_layernorm.weight", Named::PlusOne},
      {"gemma2", "output_norm.weight", "model.norm.weight", Named::PlusOne},
      {"gemma2", "token_embd.weight", "model.embed_tokens.weight"},
      {"gemma2", "blk.1.attn_q.weight",
       "model.layers.1.self_attn.q_proj.weight"},
      {"gemma3", "blk.1.attn_q_norm.weight",
       "model.layers.1.self_attn.q_norm.weight", Named::PlusOne},
      {"gemma3", "blk.1.attn_k_norm.weight",
       "model.layers.1.self_attn.k_norm.weight", Named::PlusOne},
      {"phi3", "blk.1.attn_qkv.weight",
       "model.layers.1.self_attn.qkv_proj.weight"},
      {"phi3", "blk.1.ffn_up.weight", "model.layers.1.mlp.gate_up_proj.weight"},
      {"phi3", "rope_factors_long.weight", "rope_factors_long.weight"},
      {"gpt2", "token_embd.weight", "transformer.wte.weight"},
      {"gpt2", "position_embd.weight", "transformer.wpe.weight"},
      {"gpt2", "output_norm.bias", "transformer.ln_f.bias"},
      {"gpt2", "blk.1.attn_norm.weight", "transformer.h.1.ln_1.weight"},
      {"gpt2", "blk.1.attn_qkv.weight", "transformer.h.1.attn.c_attn.weight",
       Named::Flipped},
      {"gpt2", "blk.1.attn_qkv.bias", "transformer.h.1.attn.c_attn.bias"},
      {"gpt2", "blk.1.attn_output.weight", "transformer.h.1.attn.c_proj.weight",
       Named::Flipped},
      {"gpt2", "blk.1.ffn_norm.weight", "transformer.h.1.ln_2.weight"},
      {"gpt2", "blk.1.ffn_up.weight", "transformer.h.1.mlp.c_fc.weight",
       Named::Flipped},
      {"gpt2", "blk.1.ffn_down.weight", "transformer.h.1.mlp.c_proj.weight",
       Named::Flipped},
  };
  const Named olmo2[] = {
      {"olmo2", "blk.1.attn_q_norm.weight",
       "model.layers.1.self_attn.q_norm.weight"},
      {"olmo2", "blk.1.post_attention_norm.weight",
       "model.layers.1.post_attention_layernorm.weight"},
      {"olmo2", "blk.1.post_ffw_norm.weight",
       "model.layers.1.post_feedforward_layernorm.weight"},
  };
  // Of DeepSeek, whose files have other names than their architecture's.
  const Named latent[] = {
      {"deepseek2", "blk.3.attn_q.weight",
       "model.layers.3.self_attn.q_proj.weight"},
      {"deepseek2", "blk.3.attn_q_a.weight",
       "model.layers.3.self_attn.q_a_proj.weight"},
      {"deepseek2", "blk.3.attn_q_a_norm.weight",
       "model.layers.3.self_attn.q_a_layernorm.weight"},
      {"deepseek2", "blk.3.attn_q_b.weight",
       "model.layers.3.self_attn.q_b_proj.weight"},
      {"deepseek2", "blk.3.attn_kv_a_mqa.weight",
       "model.layers.3.self_attn.kv_a_proj_with_mqa.weight"},
      {"deepseek2", "blk.3.attn_kv_a_norm.weight",
       "model.layers.3.self_attn.kv_a_layernorm.weight"},
      {"deepseek2", "blk.3.attn_kv_b.weight",
       "model.layers.3.self_attn.kv_b_proj.weight"},
      {"deepseek2", "blk.3.attn_k_b.weight",
       "model.layers.3.self_attn.k_b_proj.weight", Named::Heads},
      {"deepseek2", "blk.3.attn_v_b.weight",
       "model.layers.3.self_attn.v_b_proj.weight", Named::Heads},
      {"deepseek2", "blk.3.attn_output.weight",
       "model.layers.3.self_attn.o_proj.weight"},
      {"deepseek2", "blk.0.ffn_up.weight", "model.layers.0.mlp.up_proj.weight"},
      {"deepseek2", "blk.3.ffn_gate_inp.weight",
       "model.layers.3.mlp.gate.weight"},
      {"deepseek2", "blk.3.ffn_down_shexp.weight",
       "model.layers.3.mlp.shared_experts.down_proj.weight"},
  };
  std::vector<Named> all(std::begin(cases), std::end(cases));
  all.insert(all.end(), std::begin(olmo2), std::end(olmo2));
  all.insert(all.end(), std::begin(latent), std::end(latent));
  for (const Named &it : all) {
    SCOPED_TRACE(std::string(it.architecture) + " " + it.stored);
    auto found = translate_gguf_name(it.architecture, it.stored);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, it.name);
    EXPECT_EQ(found->is_paired, it.how == Named::Paired);
    EXPECT_EQ(found->is_flipped, it.how == Named::Flipped);
    EXPECT_EQ(found->is_plus_one, it.how == Named::PlusOne);
    EXPECT_EQ(found->is_of_heads, it.how == Named::Heads);
    if (std::string(it.stored) != it.name)
      EXPECT_EQ(find_gguf_name(it.architecture, it.name), GgufPlace{it.stored});
  }
}

TEST(GgufNames, OfPublishedGpt2LackAPrefix) {
  EXPECT_EQ(find_gguf_name("gpt2", "wte.weight"),
            GgufPlace{"token_embd.weight"});
  EXPECT_EQ(find_gguf_name("gpt2", "h.3.attn.c_attn.bias"),
            GgufPlace{"blk.3.attn_qkv.bias"});
  for (const char *name :
       {"", "weight", "h.3.attn.bias", "model.layers.0.mlp.up_proj.weight",
        "transformer.h..ln_1.weight", "transformer.h.1ln_1.weight"})
    EXPECT_FALSE(find_gguf_name("gpt2", name)) << name;
  EXPECT_FALSE(find_gguf_name("mamba", "lm_head.weight"));
}

TEST(GgufNames, OfBiasesThatChooseHaveNoLeaf) {
  const auto found = translate_gguf_name("deepseek2", "blk.3.exp_probs_b.bias");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "model.layers.3.mlp.gate.e_score_correction_bias");
  for (const char *stored :
       {"blk.3.exp_probs_b.weight", "blk.3.attn_k_b.bias", "exp_probs_b.bias"})
    EXPECT_FALSE(translate_gguf_name("deepseek2", stored)) << stored;
}

TEST(GgufNames, OfExpertsAreThoseOfAll) {
  EXPECT_EQ(
      find_gguf_name("olmoe", "model.layers.1.mlp.experts.12.up_proj.weight"),
      (GgufPlace{"blk.1.ffn_up_exps.weight", 12}));
  EXPECT_EQ(find_gguf_name("llama",
                           "model.layers.0.block_sparse_moe.experts.0.w2.bias"),
            (GgufPlace{"blk.0.ffn_down_exps.bias", 0}));
  for (const char *name :
       {"model.layers.1.mlp.experts.up_proj.weight",
        "model.layers.1.mlp.experts.-1.up_proj.weight",
        "model.layers.1.mlp.experts.01.up_proj.weight",
        "model.layers.1.mlp.experts.12345678901234567890.up_proj.weight",
        "model.layers.1.mlp.experts.1.other.weight"})
    EXPECT_FALSE(find_gguf_name("olmoe", name)) << name;
}

TEST(GgufNames, OfOtherTensorsAreNotKnown) {
  for (const char *stored :
       {"", ".weight", "output", "output.scale", "blk.0.ffn_gate_chexps.weight",
        "blk.00.ffn_up.weight", "blk.ffn_up.weight", "blk..ffn_up.weight",
        "blk.1ffn_up.weight", "blk.1234567.ffn_up.weight",
        "blk.0.token_embd.weight", "attn_q.weight", "blk.0.attn_q_norm.weight",
        "rope_freqs.bias", "blk.0.attn_qkv.weight", "v.blk.0.ffn_up.weight"})
    EXPECT_FALSE(translate_gguf_name("llama", stored)) << stored;
  EXPECT_FALSE(translate_gguf_name("mamba", "output.weight"));
}

TEST(GgufPart, IsSaidByAName) {
  auto part = GgufPart::parse("a/x-00002-of-00010.gguf");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->stem, "x");
  EXPECT_EQ(part->number, 2u);
  EXPECT_EQ(part->count, 10u);
  EXPECT_EQ(part->name_of(7), "x-00007-of-00010.gguf");
  for (const char *name :
       {"x.gguf", "x-00000-of-00002.gguf", "x-00003-of-00002.gguf",
        "x-0001-of-00002.gguf", "x-00001-of-00002.bin", "x-+0001-of-00002.gguf",
        "x_00001-of-00002.gguf", "-00001-of-00002"})
    EXPECT_FALSE(GgufPart::parse(name)) << name;
}

class GgufFolder : public testing::Test {
protected:
  static GgufWriter llama() {
    GgufWriter writer;
    writer.text("general.architecture", "llama")
        .integer("llama.embedding_length", 8)
        .integer("llama.attention.head_count", 2);
    return writer;
  }
  std::filesystem::path write(const std::string &name,
                              const GgufWriter &writer) {
    write_file(folder.path / name, writer.bytes());
    return folder.path / name;
  }
  std::string refuse(const GgufWriter &writer) {
    auto path = write("x.gguf", writer);
    std::string message = error_of([&] { GgufModel::open(path); });
    expect_contains(message, path.string() + ": ");
    return message;
  }

  TemporaryFolder folder;
};

TEST_F(GgufFolder, IsACheckpoint) {
  auto path = write("x.gguf", llama()
                                  .zeros("token_embd.weight", {8, 3})
                                  .zeros("blk.0.attn_q.weight", {8, 8})
                                  .zeros("blk.0.attn_k.bias", {4}));
  for (const auto &opened : {path, folder.path}) {
    Checkpoint checkpoint = Checkpoint::open(opened);
    EXPECT_TRUE(checkpoint.is_gguf());
    EXPECT_EQ(checkpoint.folder(), folder.path);
    EXPECT_EQ(
        checkpoint.names(),
        (std::vector<std::string>{"model.embed_tokens.weight",
                                  "model.layers.0.self_attn.k_proj.bias",
                                  "model.layers.0.self_attn.q_proj.weight"}));
    StoredTensor table = checkpoint.find({"x", "model.embed_tokens.weight"});
    EXPECT_EQ(table.tensor->shape, (std::vector<uint64_t>{3, 8}));
    EXPECT_EQ(table.tensor->paired_rows, 0u);
    EXPECT_EQ(table.file->path(), path);
    table.file->prefetch(*table.tensor);
    table.file->release(*table.tensor);
    StoredTensor query =
        checkpoint.find({"model.layers.0.self_attn.q_proj.weight"});
    EXPECT_EQ(query.tensor->paired_rows, 4u);
    EXPECT_EQ(cache_path(checkpoint, {{1, 2}}).parent_path(),
              folder.path / ".baton");
    expect_contains(error_of([&] { checkpoint.find({"lm_head.weight"}); }),
                    opened.string() + ": the checkpoint has no tensor");
  }
}

TEST_F(GgufFolder, HasOtherCacheKeysForOtherFiles) {
  auto key = [&](const char *name, const GgufWriter &writer) {
    return packing_key(Checkpoint::open(write(name, writer)), "d");
  };
  CacheKey first = key("a.gguf", llama().zeros("token_embd.weight", {8, 3}));
  CacheKey second = key("b.gguf", llama().zeros("token_embd.weight", {8, 3}));
  EXPECT_NE(first.words[0], second.words[0]);
}

TEST_F(GgufFolder, SaysTypesAndHowTensorsAreStored) {
  GgufWriter gpt2;
  gpt2.text("general.architecture", "gpt2")
      .zeros("blk.0.attn_qkv.weight", {4, 12})
      .tensor("blk.0.ffn_down.weight", {32, 4}, 8, std::string(136, 'x'));
  GgufModel model = GgufModel::open(write("x.gguf", gpt2));
  EXPECT_EQ(model.architecture(), "gpt2");
  const Tensor *tensor = model.find("transformer.h.0.attn.c_attn.weight");
  ASSERT_TRUE(tensor);
  EXPECT_TRUE(tensor->is_flipped);
  EXPECT_EQ(tensor->shape, (std::vector<uint64_t>{4, 12}));
  EXPECT_EQ(model.type_of("transformer.h.0.mlp.c_proj.weight"), DataType::Q8_0);
  EXPECT_EQ(model.type_of("transformer.h.0.attn.c_attn.weight"), DataType::F32);
  EXPECT_EQ(model.type_of("blk.0.ffn_down.weight"), std::nullopt);

  GgufWriter gemma;
  gemma.text("general.architecture", "gemma3")
      .zeros("blk.0.attn_q_norm.weight", {4});
  model = GgufModel::open(write("x.gguf", gemma));
  EXPECT_EQ(model.find("model.layers.0.self_attn.q_norm.weight")->added, 1);
}

TEST_F(GgufFolder, HasMatricesOfHeadsBelowOneAnother) {
  GgufWriter writer;
  writer.text("general.architecture", "deepseek2")
      .zeros("blk.0.attn_k_b.weight", {5, 4, 3});
  Checkpoint checkpoint = Checkpoint::open(write("x.gguf", writer));
  StoredTensor keys =
      checkpoint.find({"model.layers.0.self_attn.k_b_proj.weight"});
  EXPECT_EQ(keys.tensor->shape, (std::vector<uint64_t>{12, 5}));

  writer = GgufWriter();
  writer.text("general.architecture", "deepseek2")
      .zeros("blk.0.attn_v_b.weight", {5, 12});
  expect_contains(refuse(writer),
                  "tensor \"blk.0.attn_v_b.weight\" has the shape [12, 5], "
                  "expected heads, outputs and inputs");
}

TEST_F(GgufFolder, RefusesWhatIsNotKnown) {
  expect_contains(refuse(GgufWriter()), "has no key \"general.architecture\"");
  expect_contains(
      refuse(GgufWriter().text("general.architecture", "mamba")),
      "the key \"general.architecture\" is \"mamba\", expected one of "
      "deepseek2, gemma2, gemma3, gpt2, gpt-oss, llama, olmo2, olmoe, phi3, "
      "qwen2, qwen2moe, qwen3, "
      "qwen3moe");
  expect_contains(
      refuse(llama().zeros("blk.0.ffn_gate_inp_shexp.weight", {8})),
      "tensor \"blk.0.ffn_gate_inp_shexp.weight\" is none that models of "
      "\"llama\" are known to have");
  expect_contains(refuse(llama().zeros("blk.0.attn_q.weight", {8, 6})),
                  "whose rows are not heads of 4");
  GgufWriter headless;
  headless.text("general.architecture", "llama")
      .integer("llama.embedding_length", 8)
      .zeros("blk.0.attn_q.weight", {8, 8});
  expect_contains(refuse(headless), "\"llama.attention.head_count\" does not");
  GgufWriter flat;
  flat.text("general.architecture", "gpt2").zeros("blk.0.attn_qkv.weight", {4});
  expect_contains(refuse(flat), "expected two dimensions");
}

TEST_F(GgufFolder, PrefersSafetensorsAndRefusesTwoModels) {
  write("a.gguf", llama());
  EXPECT_EQ(find_gguf(folder.path), folder.path / "a.gguf");
  write("b.gguf", llama());
  expect_contains(error_of([&] { Checkpoint::open(folder.path); }),
                  "holds several models, a.gguf and b.gguf; name the file");
  write_file(folder.path / "model.safetensors",
             safetensors_bytes({{"a", DataType::F32, {1}, {1}}}));
  EXPECT_FALSE(find_gguf(folder.path));
  EXPECT_FALSE(Checkpoint::open(folder.path).is_gguf());
  EXPECT_TRUE(Checkpoint::open(folder.path / "b.gguf").is_gguf());
}

class GgufParts : public GgufFolder {
protected:
  static GgufWriter part(GgufWriter writer, uint16_t number) {
    writer.raw("split.no", GgufWriter::U16, GgufWriter::little(number))
        .raw("split.count", GgufWriter::U16, GgufWriter::little(uint16_t(2)))
        .raw("split.tensors.count", GgufWriter::I32,
             GgufWriter::little(int32_t(2)));
    return writer;
  }
  std::string name(int number) {
    return "x-0000" + std::to_string(number) + "-of-00002.gguf";
  }
  std::string refuse_first() {
    return error_of([&] { GgufModel::open(folder.path / name(1)); });
  }
};

TEST_F(GgufParts, AreOpenedByTheFirst) {
  write(name(1), part(llama(), 0).zeros("token_embd.weight", {8, 3}));
  expect_contains(refuse_first(), name(2) + ": no such file, part 2 of 2");
  write(name(2), part({}, 1).zeros("blk.0.attn_q.weight", {8, 8}));
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  EXPECT_EQ(checkpoint.files().size(), 2u);
  StoredTensor query =
      checkpoint.find({"model.layers.0.self_attn.q_proj.weight"});
  EXPECT_EQ(query.tensor->paired_rows, 4u);
  EXPECT_EQ(query.file->path().filename(), name(2));

  expect_contains(error_of([&] { GgufModel::open(folder.path / name(2)); }),
                  "is part 2 of 2; name the first, " + name(1));
  std::filesystem::rename(folder.path / name(1), folder.path / "y.gguf");
  expect_contains(error_of([&] { GgufModel::open(folder.path / "y.gguf"); }),
                  "its name does not say so");
}

TEST_F(GgufParts, HaveToBelongTogether) {
  write(name(1), part(llama(), 0).zeros("token_embd.weight", {8, 3}));
  write(name(2), part({}, 0).zeros("blk.0.attn_q.weight", {8, 8}));
  expect_contains(refuse_first(), name(2) + ": is not part 2 of 2");
  write(name(2), part({}, 1));
  expect_contains(refuse_first(), "is 2, but the parts have 1 tensors");
  write(name(2), part({}, 1).zeros("token_embd.weight", {8, 3}));
  expect_contains(refuse_first(), "is also in");
}

} // namespace
} // namespace baton::test
