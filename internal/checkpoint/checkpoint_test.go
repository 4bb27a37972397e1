package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/checkpoint"
)

// zipped is a zip with entries of some bytes each, as torch.save writes.
func zipped(names ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, n := range names {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: n, Method: zip.Store})
		io.WriteString(w, strings.Repeat("x", 300))
	}
	z.Close()
	return b.String()
}

// tensors is a safetensors file of one tensor of n bytes.
func tensors(n int) string {
	head := fmt.Sprintf(`{"__metadata__":{"format":"pt"},"w":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, n, n)
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + strings.Repeat("w", n)
}

// hdf is an HDF5 superblock of version 0 that claims a length.
func hdf(claims, has int) string {
	b := make([]byte, has)
	copy(b, "\x89HDF\r\n\x1a\n")
	b[13], b[14] = 8, 8
	binary.LittleEndian.PutUint64(b[40:], uint64(claims))
	return string(b)
}

const (
	legacy = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"
	lfs    = "version https://git-lfs.github.com/spec/v1\noid sha256:1fe6c7\nsize 7105348560\n"
	state  = `{"global_step": 500}`
)

var pt = zipped("archive/data.pkl", "archive/data/0")

// files of a checkpoint, and what is said of it: "path format step complete why".
var cases = []struct {
	name  string
	files map[string]string
	want  []string
}{
	{"HF whole", map[string]string{
		"out/checkpoint-500/model.safetensors": tensors(100), "out/checkpoint-500/optimizer.pt": pt, "out/checkpoint-500/rng_state.pth": pt,
		"out/checkpoint-500/trainer_state.json": state,
	}, []string{"out/checkpoint-500 hf 500 true trainer_state.json, which is written last, is there"}},
	{"HF cut before the trainer state", map[string]string{
		"checkpoint-500/model.safetensors": tensors(100), "checkpoint-500/optimizer.pt": pt,
	}, []string{"checkpoint-500 hf 500 false trainer_state.json, which is written last, is missing"}},
	{
		"HF for inference",
		map[string]string{"checkpoint-500/model.safetensors": tensors(100)},
		[]string{"checkpoint-500 hf 500 ? has weights but no trainer state: saved for inference, or torn"},
	},
	{"HF cut weights", map[string]string{
		"checkpoint-500/model.safetensors": tensors(100)[:120], "checkpoint-500/trainer_state.json": state,
	}, []string{"checkpoint-500 hf 500 false model.safetensors is cut: 120 of 196 bytes"}},
	{
		"HF staging folder",
		map[string]string{"tmp-checkpoint-500/trainer_state.json": state, "checkpoint-400/pytorch_model.bin": pt, "checkpoint-400/trainer_state.json": state},
		[]string{"checkpoint-400 hf 400 true trainer_state.json, which is written last, is there", "tmp-checkpoint-500 hf 500 false is a staging folder that was never renamed"},
	},
	{"HF shard of the index missing", map[string]string{
		"checkpoint-9/model.safetensors.index.json": `{"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}}`,
		"checkpoint-9/model-1.safetensors":          tensors(4), "checkpoint-9/trainer_state.json": state,
	}, []string{"checkpoint-9 hf 9 false 1 shards of its index are missing, the first is model-2.safetensors"}},
	{"HF shard of the count missing", map[string]string{
		"checkpoint-9/model-00001-of-00003.safetensors": tensors(4), "checkpoint-9/model-00003-of-00003.safetensors": tensors(4), "checkpoint-9/trainer_state.json": state,
	}, []string{"checkpoint-9 hf 9 false 2 of 3 shards of model.safetensors"}},
	{"HF rank missing", map[string]string{
		"checkpoint-9/model.safetensors": tensors(4), "checkpoint-9/rng_state_0.pth": pt, "checkpoint-9/rng_state_2.pth": pt, "checkpoint-9/trainer_state.json": state,
	}, []string{"checkpoint-9 hf 9 false rng_state of 2 of 3 ranks"}},
	{
		"HF empty trainer state",
		map[string]string{"checkpoint-9/model.safetensors": tensors(4), "checkpoint-9/trainer_state.json": ""},
		[]string{"checkpoint-9 hf 9 false trainer_state.json, which is written last, is empty"},
	},
	{"DeepSpeed within HF, a rank missing", map[string]string{
		"checkpoint-9/global_step9/zero_pp_rank_0_mp_rank_00_optim_states.pt": pt, "checkpoint-9/global_step9/zero_pp_rank_2_mp_rank_00_optim_states.pt": pt,
		"checkpoint-9/global_step9/mp_rank_00_model_states.pt": pt, "checkpoint-9/latest": "global_step9", "checkpoint-9/trainer_state.json": state,
	}, []string{"checkpoint-9 hf 9 false global_step9: optimizer states of 2 of at least 3 ranks"}},

	{"safetensors whole", map[string]string{"model.safetensors": tensors(10)}, []string{"model.safetensors safetensors -1 true header and size agree"}},
	{"safetensors too long", map[string]string{"model.safetensors": tensors(10) + "x"}, []string{"model.safetensors safetensors -1 false is longer than its header says: 105 instead of 104 bytes"}},
	{"safetensors claims a huge header", map[string]string{"m.safetensors": "\xff\xff\xff\xff\xff\xff\xff\xff{}"}, []string{"m.safetensors safetensors -1 false has no safetensors header"}},
	{"safetensors ends in its header", map[string]string{"m.safetensors": tensors(10)[:50]}, []string{"m.safetensors safetensors -1 false ends within its header: 50 of 94 bytes"}},
	{"git-lfs pointer", map[string]string{"sd/xl.safetensors": lfs}, []string{"sd/xl.safetensors safetensors -1 false is a git-lfs pointer to 7105348560 bytes, not the weights"}},
	{"empty file", map[string]string{"last.pt": ""}, []string{"last.pt torch -1 false is empty"}},
	{"temporary name", map[string]string{"step_7.pt.tmp": pt, "x.ckpt.partial": pt}, []string{"x.ckpt.partial lightning -1 false was never renamed to its final name", "step_7.pt.tmp torch 7 false was never renamed to its final name"}},

	{"torch whole and cut", map[string]string{"w/epoch42.pt": pt, "w/last.pt": pt[:len(pt)/2]}, []string{
		"w/last.pt torch -1 false is cut: its zip directory, which is written last, is missing", "w/epoch42.pt torch 42 true its zip directory is there",
	}},
	{"torch old format", map[string]string{"old.pth": legacy}, []string{"old.pth torch -1 ? is in torch's old format, which does not tell its length"}},
	{"torch never written", map[string]string{"z.pt": strings.Repeat("\x00", 500)}, []string{"z.pt torch -1 false begins with zeros: its blocks were never written"}},
	{"torch without a pickle", map[string]string{"z.pt": zipped("readme")}, []string{"z.pt torch -1 false is a zip without data.pkl"}},
	{"Lightning", map[string]string{"v0/epoch=3-step=1200.ckpt": pt}, []string{"v0/epoch=3-step=1200.ckpt lightning 1200 true its zip directory is there"}},

	{"DeepSpeed whole", map[string]string{
		"c/latest": "global_step20\n", "c/global_step20/zero_pp_rank_0_mp_rank_00_optim_states.pt": pt, "c/global_step20/zero_pp_rank_1_mp_rank_00_optim_states.pt": pt,
		"c/global_step20/mp_rank_00_model_states.pt": pt,
	}, []string{"c/global_step20 deepspeed 20 true the states of all 2 ranks are there"}},
	{"DeepSpeed stage 3, a model state missing", map[string]string{
		"c/g/zero_pp_rank_0_mp_rank_00_optim_states.pt": pt, "c/g/zero_pp_rank_1_mp_rank_00_optim_states.pt": pt, "c/g/zero_pp_rank_0_mp_rank_00_model_states.pt": pt,
	}, []string{"c/g deepspeed -1 false model states of 1 of at least 2 ranks"}},
	{"DeepSpeed latest alone", map[string]string{"latest": "global_step6200"}, []string{"global_step6200 deepspeed 6200 ? named by latest, but not among the files here"}},

	{"Megatron whole and unfinished", map[string]string{
		"latest_checkpointed_iteration.txt": "1000\n", "iter_0001000/mp_rank_00/model_optim_rng.pt": pt, "iter_0002000/mp_rank_00/model_optim_rng.pt": pt,
	}, []string{"iter_0001000 megatron 1000 true latest_checkpointed_iteration.txt is at or past it", "iter_0002000 megatron 2000 false latest_checkpointed_iteration.txt says 1000: the save of this one did not finish"}},
	{
		"Megatron without its tracker",
		map[string]string{"iter_0001000/mp_rank_00/model_optim_rng.pt": pt},
		[]string{"iter_0001000 megatron 1000 ? its files are there, but no latest_checkpointed_iteration.txt names it"},
	},

	{"DCP whole", map[string]string{"step-30/.metadata": "m", "step-30/__0_0.distcp": "x", "step-30/__1_0.distcp": "x"}, []string{"step-30 dcp 30 true .metadata, which is written last, is there"}},
	{"DCP torn", map[string]string{"step-30/.metadata.tmp": "m", "step-30/__0_0.distcp": "x"}, []string{"step-30 dcp 30 false .metadata, which is written last, is missing"}},

	{
		"Orbax",
		map[string]string{"ck/100/_CHECKPOINT_METADATA": "{}", "ck/100/default/d/0": "x", "ck/200.orbax-checkpoint-tmp-17/default/d/0": "x"},
		[]string{"ck/100 orbax 100 true has its final name", "ck/200.orbax-checkpoint-tmp-17 orbax 200 false still has its temporary name: the save did not finish"},
	},
	{"Orbax on GCS", map[string]string{"ck/100/commit_success.txt": "", "ck/100/state/x": "x"}, []string{"ck/100 orbax 100 true commit_success.txt is there"}},

	{
		"TensorFlow",
		map[string]string{"checkpoint": "x", "ckpt-5.index": "i", "ckpt-5.data-00000-of-00002": "d", "ckpt-5.data-00001-of-00002": "d", "ckpt-6.index": "i", "ckpt-6.data-00000-of-00002": "d", "ckpt-7.index": "i"},
		[]string{"ckpt-5 tensorflow 5 true the index and all data files are there", "ckpt-6 tensorflow 6 false 1 of 2 data files", "ckpt-7 tensorflow 7 false has an index but no data file"},
	},
	{"another program's index", map[string]string{"faiss.index": "x"}, nil},

	{
		"Keras",
		map[string]string{"model.keras": zipped("config.json", "model.weights.h5"), "cut.keras": zipped("config.json", "model.weights.h5")[:100], "model.h5": hdf(200, 200), "model_cut.h5": hdf(900, 200), "model_bad.h5": "<html>"},
		[]string{
			"cut.keras keras -1 false is cut: its zip directory, which is written last, is missing", "model.h5 keras -1 true signature and size agree", "model.keras keras -1 true its zip directory is there",
			"model_bad.h5 keras -1 false has no HDF5 signature", "model_cut.h5 keras -1 false is cut: 200 of 900 bytes",
		},
	},
	{"model in shards", map[string]string{"m/model-00001-of-00002.safetensors": tensors(3), "m/model-00002-of-00002.safetensors": tensors(3)}, []string{"m safetensors -1 true all shards are there"}},
	{"no checkpoint", map[string]string{"run.log": "x", "data/train.bin": "x", "optimizer_states/rng_state_0.pth": pt}, nil},
}

func describe(fsys fs.FS) (out []string) {
	for _, c := range checkpoint.Dir(fsys) {
		ok := "?"
		if c.Complete != nil {
			ok = fmt.Sprint(*c.Complete)
		}
		out = append(out, fmt.Sprintf("%s %s %d %s %s", c.Path, c.Format, c.Step, ok, c.Why))
	}
	return out
}

func TestInspect(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := fstest.MapFS{}
			for name, data := range c.files {
				m[name] = &fstest.MapFile{Data: []byte(data)}
			}
			if diff := cmp.Diff(c.want, describe(m)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListing(t *testing.T) {
	files := []checkpoint.File{
		{Path: "/out/checkpoint-500", Dir: true, Size: -1},
		{Path: "/out/checkpoint-500/trainer_state.json", Size: 17114},
		{Path: "/out/checkpoint-500/model.safetensors", Size: 1 << 33},
		{Path: "/out/checkpoint-600/model.safetensors", Size: 1 << 20},
		{Path: "/out/checkpoint-600/optimizer.pt", Size: 0},
		{Path: "/out/iter_0012000", Dir: true},
	}
	var got []string
	for _, c := range checkpoint.Inspect(nil, files) {
		ok := "?"
		if c.Complete != nil {
			ok = fmt.Sprint(*c.Complete)
		}
		got = append(got, c.Path+" "+ok+" "+c.Why)
	}
	want := []string{
		"/out/checkpoint-500 true trainer_state.json, which is written last, is there",
		"/out/checkpoint-600 false optimizer.pt is empty",
		"/out/iter_0012000 ? its files are not listed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStep(t *testing.T) {
	for name, want := range map[string]int64{
		"checkpoint-500": 500, "global_step20": 20, "iter_0012000": 12000, "epoch=3-step=1200.ckpt": 1200, "epoch42.pt": 42, "step_6000.pt": 6000,
		"ckpt-7": 7, "checkpoint-epoch-3": 3, "000100": 100, "1000": 1000, "best.pt": -1, "model.safetensors": -1, "llama-7b": -1, "last.ckpt": -1,
	} {
		if got := checkpoint.Step(name); got != want {
			t.Errorf("Step(%q) = %d, want %d", name, got, want)
		}
	}
}

// fuzzFile runs a file of hostile bytes through the reader of its extension.
func fuzzFile(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := checkpoint.Dir(fstest.MapFS{name: {Data: data}})
		if len(out) != 1 || out[0].Why == "" {
			t.Errorf("%+v", out)
		}
	})
}

func FuzzSafetensors(f *testing.F) { fuzzFile(f, "m.safetensors", tensors(10), tensors(0)[:20], lfs) }
func FuzzTorch(f *testing.F)       { fuzzFile(f, "m.pt", pt, pt[:100], legacy) }
func FuzzKeras(f *testing.F)       { fuzzFile(f, "m.keras", zipped("config.json", "model.weights.h5")) }
func FuzzHDF5(f *testing.F)        { fuzzFile(f, "model.h5", hdf(100, 100), hdf(2, 60)) }

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"weight_map":{"a":"model-1.safetensors"}}`), "global_step3")
	f.Fuzz(func(t *testing.T, index []byte, latest string) {
		checkpoint.Dir(fstest.MapFS{
			"checkpoint-1/model.safetensors.index.json": {Data: index}, "checkpoint-1/model-1.safetensors": {Data: []byte(tensors(1))},
			"latest": {Data: []byte(latest)}, "latest_checkpointed_iteration.txt": {Data: []byte(latest)}, "iter_0000001/a.pt": {Data: []byte(pt)},
		})
	})
}
