//go:build unix

package hostile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nested is a text in n pairs of brackets.
func nested(left, core, right string, n int) string {
	return strings.Repeat(left, n) + core + strings.Repeat(right, n)
}

// aliases is a YAML document that is 9^n values when its aliases are followed.
func aliases(n int) string {
	b := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < n; i++ {
		b += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 8), i-1)
	}
	return b
}

// safetensors is a header of a length that it claims, and what follows.
func safetensors(claims uint64, header string) string {
	return string(binary.LittleEndian.AppendUint64(nil, claims)) + header
}

// zipOf is a zip of entries, each of a megabyte of zeros or what it is given.
func zipOf(n int, name string, content []byte) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		w, _ := z.Create(fmt.Sprintf(name, i))
		w.Write(content)
	}
	z.Close()
	return b.String()
}

// A run's folder with a nasty file beside a log whose failure has to be found.
func TestFolders(t *testing.T) {
	each(t, []target{
		{name: "JSON 1,000 levels deep", put: folder("config.json", func() string { return nested("[", "1", "]", 1000) }), want: found + `.*too deep`},
		{name: "JSON a million levels deep", put: folder("config.json", func() string { return nested(`{"a":`, "1", "}", many(1_000_000)) }), want: found + `.*too deep`},
		{name: "JSON of a million keys", put: folder("config.json", func() string { return "{" + strings.TrimSuffix(lines(many(1_000_000), `"k%d":1,`), ",\n") + "}" }), want: found},
		{name: "JSON that is not", put: folder("config.json", func() string { return noise(1 << 20) }), want: found},
		{name: "JSON with a string of 15 MB", put: folder("config.json", func() string { return `{"a":"` + strings.Repeat("x", 15<<20) + `"}` }), want: found},
		{name: "JSON of 100 MB", put: folder("config.json", func() string { return `{"a":[` + strings.Repeat("1,", 50<<20) + `1]}` }), want: found + `.*larger than 16 MB`},
		{name: "JSON with keys to fool a reader", put: folder("config.json", func() string {
			return `{"__proto__":{"x":1},"a\u0000b":1,"\u202e":2,"":3,"\ud800":4,"a.b..c":5,"lr":{"value":{"value":{"value":1}}}}`
		}), want: found},
		{name: "YAML bomb of aliases", put: folder("config.yaml", func() string { return aliases(30) }), want: found},
		{name: "YAML that contains itself", put: folder("config.yaml", func() string { return "a: &a\n  b: *a\n" }), want: found},
		{name: "YAML 100,000 levels deep", put: folder("config.yaml", func() string { return nested("[", "1", "]", 100_000) }), want: found},
		{name: "YAML of indents", put: folder("config.yaml", func() string { return strings.Repeat("- ", 500_000) + "x\n" }), want: found},
		{name: "YAML of maps in maps", put: folder("config.yaml", func() string {
			var b strings.Builder
			for i := range 1500 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}), want: found},
		{name: "YAML tags that make things", put: folder("config.yaml", func() string {
			return "a: !!python/object/apply:os.system ['touch /tmp/owned']\nb: !!binary x\nc: !<tag:yaml.org,2002:map> {}\n? {complex: key}\n: v\n"
		}), want: found},
		{name: "YAML of a million documents", put: folder("config.yaml", func() string { return strings.Repeat("---\na: 1\n", 200_000) }), want: found},
		{name: "YAML of merges", put: folder("config.yaml", func() string { return "a: &a {x: 1}\nb: {" + strings.Repeat("<<: *a, ", 50_000) + "}\n" }), want: found},
		{name: "hydra's folder of bombs", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, ".hydra/config.yaml"), aliases(30))
			write(t, filepath.Join(dir, ".hydra/overrides.yaml"), strings.Repeat("- a.b=${a.b}\n", 100_000))
			return dir
		}, want: found},
		{name: "TOML of brackets", put: folder("config.toml", func() string { return nested("[", "a", "]", 900_000) + "\na = " + nested("[", "", "]", 100_000) }), want: found},
		{name: "arguments without end", put: folder("args.txt", func() string { return lines(many(100_000), "--key%[1]d %[1]d") }), want: found},
		{name: "a CSV of a million columns", put: folder("metrics.csv", func() string {
			return "step,loss" + strings.Repeat(",accuracy", many(1_000_000)) + "\n1,2" + strings.Repeat(",0.5", many(1_000_000)) + "\n"
		}), want: found},
		{name: "a CSV of a million names", put: folder("metrics.csv", func() string {
			return "step,loss," + strings.ReplaceAll(lines(many(500_000), "m%d"), "\n", ",") + "z\n1,2" + strings.Repeat(",0.5", 500_001) + "\n"
		}), want: found},
		{name: "a CSV of wide rows", put: folder("metrics.csv", func() string {
			return "step,loss,a,b,c,d,e,f,g,h\n" + strings.Repeat("1,1,1,1,1,1,1,1,1,1\n", many(750_000))
		}), want: found},
		{name: "a CSV of a quote that never ends", put: folder("metrics.csv", func() string { return "step,loss\n1,\"" + strings.Repeat("1\n", 7<<20) }), want: found},
		{name: "a CSV with labels in a million columns", put: folder("train.csv", func() string {
			return "label" + strings.Repeat(",f", many(1_000_000)) + "\n" + strings.Repeat("1"+strings.Repeat(",1", many(1_000_000))+"\n", 3)
		}), args: []string{"--target", "label"}, want: found},
		{name: "labels in wide JSON lines", put: folder("train.jsonl", func() string {
			row := `{"label":1` + strings.Repeat(`,"f":1`, 500) + "}\n"
			return strings.Repeat(row, 15_000)
		}), args: []string{"--target", "label"}, want: found},
		{name: "a trainer state of a million rows", put: folder("trainer_state.json", func() string {
			return `{"global_step":1,"log_history":[` + strings.Repeat(`{"step":1,"loss":1},`, 700_000) + `{"step":2}]}`
		}), want: found},
		{name: "a trainer state of wide rows", put: folder("trainer_state.json", func() string {
			return `{"global_step":1,"log_history":[` + strings.Repeat(`{`+strings.ReplaceAll(lines(400, `"m%d":1,`), "\n", "")+`"step":1},`, 900) + `{"step":2}]}`
		}), want: found},

		{name: "a pickle that runs a program", put: folder("model.pt", func() string { return "\x80\x04cposix\nsystem\n(S'touch /tmp/owned'\ntR." }), want: found},
		{name: "a pickle bomb in a flight dump", put: folder("nccl_trace_rank_0", func() string {
			return "\x80\x04}(X\x07\x00\x00\x00entries]" + strings.Repeat("]", 1<<20) + strings.Repeat("a", 1<<20) + "u."
		}), want: found},
		{name: "a flight dump of copies", put: folder("nccl_trace_rank_0", func() string {
			return "\x80\x04X\x07\x00\x00\x00entriesX\x07\x00\x00\x00versionpg_config\x94" + strings.Repeat("2", 8<<20) + "."
		}), want: found},
		{name: "a flight dump of marks", put: folder("nccl_trace_rank_0", func() string {
			return "\x80\x04entries version pg_config" + strings.Repeat("(", 1<<20) + strings.Repeat("Nt", 1<<20) + "."
		}), want: found},
		{name: "a flight dump of one collective, millions of times", put: folder("nccl_trace_rank_0", func() string {
			return "\x80\x04}\x94X\x09\x00\x00\x00pg_config}sh\x00X\x06\x00\x00\x00frames](" + strings.Repeat("h\x00", 600_000) + "esX\x07\x00\x00\x00entries](" + strings.Repeat("h\x00", 600_000) + "es."
		}), want: found},
		{name: "a flight dump of lists", put: folder("nccl_trace_rank_0", func() string { return "\x80\x04entries version pg_config" + strings.Repeat("]", 15<<20) + "." }), want: found},
		{name: "a flight dump that holds itself", put: folder("nccl_trace_rank_0", func() string {
			return "\x80\x04}\x94X\x07\x00\x00\x00entriesh\x00sX\x07\x00\x00\x00versionh\x00s."
		}), want: found},
		{name: "a flight dump in JSON, deep", put: folder("nccl_trace_rank_0.json", func() string { return `{"version":"2.4","entries":` + nested("[", "1", "]", many(1_000_000)) + "}" }), want: found},
		{name: "a checkpoint of zeros", put: folder("last.ckpt", func() string { return strings.Repeat("\x00", 1<<20) }), want: found + `.*never written`},
		{name: "a checkpoint of a million entries", put: folder("last.pt", func() string { return zipOf(150_000, "archive/data/%d", nil) }), want: found},
		{name: "a zip bomb as a checkpoint", put: folder("last.pt", func() string { return zipOf(300, "archive/data/%d", make([]byte, 1<<20)) }), want: found},
		{name: "a zip that lies about its directory", put: folder("last.pt", func() string {
			return "PK\x03\x04" + noise(1000) + "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00"
		}), want: found},
		{name: "zip slip", put: folder("run.zip", func() string { return zipOf(1, "../../../../tmp/owned%d", []byte("x")) }), want: found},
		{name: "a zip bomb beside the log", put: folder("logs.zip", func() string { return zipOf(300, "%d.log", make([]byte, 1<<20)) }), want: found},
		{name: "a tar of lies", put: folder("logs.tar", func() string { return strings.Repeat("x", 257) + "ustar\x0000" + strings.Repeat("7", 1000) }), want: found},
		{name: "safetensors: a header of 18 exabytes", put: folder("model.safetensors", func() string { return safetensors(1<<63, "{}") }), want: found + `.*no safetensors header`},
		{name: "safetensors: a header longer than the file", put: folder("model.safetensors", func() string { return safetensors(90_000_000, "{}") }), want: found + `.*ends within its header`},
		{name: "safetensors: a header of one string of 90 MB", put: folder("model.safetensors", func() string {
			return safetensors(90_000_000, `{"`+strings.Repeat("k", 90_000_000-2))
		}), want: found + `.*too large to be read`},
		{name: "safetensors: metadata of 90 MB", put: folder("model.safetensors", func() string {
			return safetensors(90_000_000, `{"__metadata__":"`+strings.Repeat("k", 90_000_000-19)+`"}`)
		}), want: found},
		{name: "safetensors: offsets of 90 MB", put: folder("model.safetensors", func() string {
			return safetensors(90_000_000, `{"w":{"data_offsets":[`+strings.Repeat("1,", 44_999_988))
		}), want: found},
		{name: "safetensors: offsets that overflow", put: folder("model.safetensors", func() string {
			h := `{"w":{"data_offsets":[0,9223372036854775807]}}`
			return safetensors(uint64(len(h)), h)
		}), want: found},
		{name: "safetensors: deep", put: folder("model.safetensors", func() string {
			h := nested(`{"a":`, "1", "}", many(1_000_000))
			return safetensors(uint64(len(h)), h)
		}), want: found},
		{name: "an index of shards of 20 MB", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, "checkpoint-5/model-00001-of-99999.safetensors"), "x")
			write(t, filepath.Join(dir, "checkpoint-5/model.safetensors.index.json"), `{"weight_map":{`, strings.TrimSuffix(lines(many(700_000), `"w%[1]d":"m%[1]d",`), ",\n"), "}}")
			write(t, filepath.Join(dir, "checkpoint-5/trainer_state.json"), "{}")
			return dir
		}, want: found},
		{name: "DCP: metadata that runs a program", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, "step-5/.metadata"), "\x80\x04cposix\nsystem\n(S'touch /tmp/owned'\ntR.")
			write(t, filepath.Join(dir, "step-5/__0_0.distcp"), noise(1000))
			return dir
		}, want: found},
		{name: "zarr of 5,000 chunks and deep metadata", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, "ck/5/state.zarr/.zarray"), nested(`{"a":`, "1", "}", 100_000))
			for i := range 5000 {
				write(t, filepath.Join(dir, fmt.Sprintf("ck/5/state.zarr/0.%d", i)), "x")
			}
			return dir
		}, want: found},
		{name: "HDF5 that lies", put: folder("model.h5", func() string {
			b := make([]byte, 200)
			copy(b, "\x89HDF\r\n\x1a\n")
			b[13], b[14] = 8, 8
			binary.LittleEndian.PutUint64(b[40:], 1<<63)
			return string(b)
		}), want: found},
		{name: "numpy, joblib and npz that lie", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, "a.npy"), "\x93NUMPY\x02\x00\xff\xff\xff\xff{'shape': (99999999999,)}")
			write(t, filepath.Join(dir, "a.joblib"), "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7fcos\nsystem\n(S'touch /tmp/owned'\ntR.")
			write(t, filepath.Join(dir, "a.npz"), "PK\x03\x04"+noise(100))
			return dir
		}, want: found},

		{name: "ls of a path of 2 million folders", put: folder("ls.txt", func() string {
			return "-rw-r--r-- 1 u g 5 Jan  1 00:00 " + strings.Repeat("a/", 2<<20) + "model.pt\n"
		}), want: found},
		{name: "ls of long paths", put: folder("ls.txt", func() string {
			return "total 5\n" + strings.Repeat("-rw-r--r-- 1 u g 5 Jan  1 00:00 "+strings.Repeat("a/", 500)+"model.pt\n", 10_000)
		}), want: found},
		{name: "ls of 200,000 checkpoints", put: folder("ls.txt", func() string {
			return "total 5\n" + lines(many(200_000), "-rw-r--r-- 1 u g 5 Jan  1 00:00 step_%d.pt")
		}), want: found},
		{name: "ps of a million processes", put: folder("ps.txt", func() string {
			return "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n" + lines(250_000, "root  %d  0.0  0.0 1 1 ?  Ss   00:00   0:01 python train.py")
		}), want: found},
		{name: "sacct of a million jobs", put: folder("sacct.txt", func() string {
			return "JobID|JobName|State|ExitCode|\n" + lines(many(300_000), "%d|train|FAILED|1:0|")
		}), want: found},
		{name: "scontrol without end", put: folder("scontrol.txt", func() string {
			return "JobId=1 JobName=x\n" + lines(many(500_000), "   Key%[1]d=%[1]d JobState=FAILED")
		}), want: found},
		{name: "dmesg of a million kills", put: folder("dmesg.txt", func() string {
			return lines(150_000, "[%[1]d.123456] Out of memory: Killed process %[1]d (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB")
		}), want: `"primary_cause"`},
		{name: "nvidia-smi of a million GPUs", put: folder("gpu.csv", func() string {
			return "index, memory.used [MiB], memory.total [MiB]\n" + lines(many(400_000), "%d, 1 MiB, 2 MiB")
		}), want: found},
		{name: "a pod of a million conditions", put: folder("pod.json", func() string {
			return `{"kind":"Pod","metadata":{"name":"x"},"status":{"phase":"Failed","containerStatuses":[` + strings.Repeat(`{"name":"c","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}},`, 100_000) + `{}]}}`
		}), want: `"primary_cause"`},
		{name: "a pipeline of 100,000 tasks", put: folder("job.json", func() string {
			return `{"displayName":"p","name":"projects/1/locations/u/pipelineJobs/1","state":"PIPELINE_STATE_FAILED","jobDetail":{"taskDetails":[` + strings.Repeat(`{"taskName":"t","state":"FAILED","error":{"code":9,"message":"m"}},`, 100_000) + `{}]}}`
		}), want: `"primary_cause"`},
		{name: "Cloud Logging of deep entries", put: folder("entries.json", func() string {
			return `[` + strings.Repeat(`{"insertId":"1","textPayload":"x","timestamp":"2026-01-01T00:00:00Z","jsonPayload":`+nested(`{"a":`, "1", "}", 60)+`},`, 20_000) + `{}]`
		}), want: found},
		{name: "a terminal session of 15 MB", put: folder("session.txt", func() string { return strings.Repeat("user@host:~$ ls -l\ntotal 5\n", 550_000) }), want: found},
		{name: "a script of a million options", put: folder("run.sbatch", func() string { return lines(many(100_000), "#SBATCH --opt%[1]d=%[1]d\nexport NCCL_A%[1]d=1") }), want: found},
		{name: "an error.json of 15 MB", put: folder("error.json", func() string {
			return `{"message":{"message":"` + strings.Repeat(`x\n`, 5<<20) + `","extraInfo":{"timestamp":"1"}}}`
		}), want: `"primary_cause"`},
		{name: "a parquet that lies", put: folder("train.parquet", func() string { return "PAR1" + noise(1000) + "\xff\xff\xff\x7fPAR1" }), args: []string{"--target", "label"}, want: found},
		{name: "a parquet of nested structures", put: folder("train.parquet", func() string {
			b := strings.Repeat("\x1c", 1<<20)
			return "PAR1" + b + string(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))) + "PAR1"
		}), args: []string{"--target", "label"}, want: found},
		{name: "event files of lies", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, "events.out.tfevents.1700000000.host"), noise(4<<20))
			return dir
		}, want: found},
		{name: "event records that overlap", put: folder("events.out.tfevents.1700000000.host", func() string { return overlapping(40 << 20) }), want: found},
		{name: "event tags without end", put: folder("events.out.tfevents.1700000000.host", func() string { return tags(200_000) }), want: found},
		{name: "a transaction log of noise", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			write(t, filepath.Join(dir, "wandb/run-20260101_000000-abc/run-abc.wandb"), ":W&B\xe1\xbe\x00"+noise(4<<20))
			return dir
		}, want: found},
		{name: "an SQLite file of noise", put: folder("mlflow.db", func() string { return "SQLite format 3\x00" + noise(1<<20) }), want: found},
		{name: "100 files of 15 MB to read whole", soak: true, put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			big := `{"a":"` + strings.Repeat("x", 15<<20) + `"}`
			for i := range 100 {
				write(t, filepath.Join(dir, fmt.Sprintf("c%d.json", i)), big)
			}
			return dir
		}, want: found},
		{name: "20 zstd files with wide windows", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			z := zst(130, "\n")
			for i := range 20 {
				write(t, filepath.Join(dir, fmt.Sprintf("n%d.txt", i)), z)
			}
			return dir
		}, want: found},
	})
	if _, err := os.Lstat("/tmp/owned"); err == nil {
		t.Error("something was executed")
	}
}
