package artifacts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/checkpoint"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// drawer is where one kind of file goes. put may decline, and the next drawer
// that takes the name gets the file.
type drawer struct {
	takes *regexp.Regexp // of the whole name
	put   func(*look, entry, string) bool
}

// drawers in order; the head of the file, decoded, is what put is given.
var drawers = []drawer{
	{regexp.MustCompile(`\d(?:\.(?:pkl|pickle|bin|json))?$`), putFlight},
	{regexp.MustCompile(`(?i)\.(?:safetensors|pt|pth|ckpt|bin|h5|keras|distcp|gguf|onnx|index|pkl|pickle|npz|npy)$|\.data-\d{5}-of-\d{5}$`), putWeights},
	{regexp.MustCompile(`tfevents\.`), putEvents},
	{regexp.MustCompile(`(?i)(?:^|/)(?:mlflow|mlruns|tracking)[^/]*\.(?:db|sqlite3?)$`), putStore},
	{regexp.MustCompile(`(?:^|/)run-[^/]+\.wandb$`), putWandb},
	{regexp.MustCompile(`(?:^|/)files/wandb-summary\.json$`), putWandbSummary},
	{regexp.MustCompile(`(?i)\.(?:parquet|arrow|tfrecord|tar|zip|7z|rar|png|jpe?g|gif|webp|pdf|svg|html|mp4|wav|so|pyc|whl|db|sqlite|wandb|tgz|tbz2?|txz|tzst|tar\.(?:gz|zst|bz2|xz))$|tfevents`), putBinary},
	{regexp.MustCompile(`(?i)\.(?:pyx?|ipynb|c|cc|cpp|cu|h|js|css|md|rst|lock|gitignore)$|(?:^|/)(?:LICENSE|Dockerfile|Makefile)$|wandb/(?:.*/)?debug(?:-\w+)?\.log$`), drop},
	{regexp.MustCompile(`(?i)(?:^|/)(?:tokenizer\w*|vocab|special_tokens_map|added_tokens|merges|preprocessor_config|generation_config)\.(?:json|txt)$|\.index\.json$|\.hydra/hydra\.yaml$|wandb-metadata\.json$`), drop},
	{regexp.MustCompile(`(?i)(?:^|/)latest(?:_checkpointed_iteration\.txt)?$`), putTracker},
	{regexp.MustCompile(`(?i)\.json$`), putJSON},
	{regexp.MustCompile(`(?i)\.(?:jsonl|ndjson)$`), putJSONLines},
	{regexp.MustCompile(`(?i)\.ya?ml$`), putYAML},
	{regexp.MustCompile(`(?i)\.(?:toml|ini|cfg|conf)$|(?:^|/)(?:\w+_)?(?:args|opts?|hparams|config)\.txt$`), putPairs},
	{regexp.MustCompile(`(?i)\.[ct]sv$`), putCSV},
	{regexp.MustCompile(`(?i)\.(?:sh|bash|sbatch|slurm|job)$`), putScript},
	{regexp.MustCompile(``), putText},
}

// sort puts every file where it belongs.
func (l *look) sort(ctx context.Context) error {
	l.ctx = ctx
	l.checkpoints()
	l.gone()
	for _, e := range l.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.inCheckpoint(e.name) && path.Base(e.name) != "trainer_state.json" {
			continue
		}
		head, err := l.head(e)
		if err != nil {
			l.unreadable(e.name, err)
			continue
		}
		for _, d := range drawers {
			if d.takes.MatchString(e.name) && d.put(l, e, head) {
				break
			}
		}
	}
	l.trainerState()
	l.flight()
	err := l.trackers(ctx)
	l.obs.Samples = append(l.obs.Samples, l.ends...)
	return err
}

// ownFolder are the formats that have a folder to themselves.
var ownFolder = map[string]bool{"hf": true, "deepspeed": true, "megatron": true, "dcp": true, "orbax": true}

// checkpoints inspects the saved states and remembers their folders, whose
// other files are not the run's own.
func (l *look) checkpoints() {
	files := make([]checkpoint.File, 0, len(l.entries)+len(l.folders))
	for _, e := range l.entries {
		files = append(files, checkpoint.File{Path: e.name, Size: e.size, ModTime: e.mod})
	}
	for _, d := range l.folders {
		files = append(files, checkpoint.File{Path: d, Dir: true})
	}
	for _, c := range checkpoint.Inspect(l.root.FS(), files) {
		l.saved[c.Path] = ownFolder[c.Format]
		if l.unsettled(c.ModifiedAt) && c.Complete != nil && !*c.Complete {
			continue
		}
		key, sign := "checkpoint "+c.Path, fmt.Sprint(c.Size, c.ModifiedAt.UnixNano(), c.Why)
		if l.obs.Next[key] = sign; l.since[key] != sign {
			l.obs.Checkpoints = append(l.obs.Checkpoints, c)
		}
	}
}

func (l *look) inCheckpoint(name string) bool {
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if l.saved[d] {
			return true
		}
	}
	return false
}

// fresh reports whether a file changed since the last look, and notes it.
func (l *look) fresh(e entry) bool {
	key, sign := "file "+e.name, fmt.Sprint(e.size, " ", e.mod.UnixNano())
	l.obs.Next[key] = sign
	return l.since[key] != sign
}

// settled is how long ago a file must have been written for a watch to take it
// as whole: a checkpoint takes its writer tens of seconds.
const settled = time.Minute

// unsettled reports whether something is probably being written at this moment,
// and a later look will see it whole.
func (l *look) unsettled(written time.Time) bool {
	return l.opt.Watch && l.obs.At.Sub(written) < settled
}

// stream makes a file's text a stream of a kind.
func (l *look) stream(e entry, kind string) {
	v, err := l.round.Look(l.ctx, l.log(e.name, kind))
	if err != nil {
		l.unreadable(e.name, err)
		return
	}
	for _, st := range v.Streams {
		if st.Kind = kind; kind == "log" {
			l.logs = append(l.logs, st)
		} else {
			st.Rank = run.NoRank
			l.exports = append(l.exports, st)
		}
	}
	v.Streams = nil
	if kind != "log" {
		v.Gaps, v.Facts = nil, nil // an empty export is no loss, and one is often written anew
	}
	v.Into(&l.obs, e.name)
}

func (l *look) log(name, kind string) file.Log {
	return file.Log{Name: name, Open: l.open(name), Last: l.lastOf(kind), Max: l.share, Folder: l.folder(name)}
}

// gone looks at the streams of earlier looks whose files are not there now.
func (l *look) gone() {
	here := map[string]bool{}
	for _, e := range l.entries {
		here[e.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(l.since)) {
		if !here[name] && file.Followed(l.since[name]) && export.IsLogName(name) {
			l.stream(entry{name: name}, "log")
		}
	}
}

func (l *look) lastOf(kind string) int {
	if kind == "log" {
		return l.opt.Last
	}
	return 0
}

// command takes what a reader of command output found.
func (l *look) found(f export.Found) {
	l.obs.Facts = append(l.obs.Facts, f.Facts...)
	l.obs.Processes = append(l.obs.Processes, f.Processes...)
	l.pipeline(f.Pipeline)
	if len(f.Files) > 0 {
		l.obs.Checkpoints = append(l.obs.Checkpoints, checkpoint.Inspect(nil, f.Files)...)
	}
}

// pipeline keeps the one with most tasks; of a pipeline that was exported apart
// from its tasks (as SageMaker's is), or whose tasks another export tells without
// the whole (as Cloud Logging does), it takes what is said of the whole.
func (l *look) pipeline(p *run.Pipeline) {
	old := l.obs.Pipeline
	if p == nil || old != nil && len(p.Tasks) <= len(old.Tasks) {
		p, old = old, p
	}
	if l.obs.Pipeline = p; p == nil || old == nil || old.Kind != p.Kind || len(old.Tasks) > 0 && p.State != "" || len(p.Tasks) == 0 {
		return
	}
	if p.Name == "" || p.Name == old.Name {
		p.Name, p.State, p.Error, p.Ref = old.Name, old.State, old.Error, old.Ref
	}
}

// finish orders the streams: the biggest log first, exports last.
func (l *look) finish() (run.Observation, error) {
	if len(l.logs) > 0 {
		l.demote()
	}
	size := map[string]int64{} // one for the parts of a log, whose order stays
	for _, s := range l.logs {
		size[s.Name] = max(size[s.Name], s.Size+s.Offset)
	}
	slices.SortStableFunc(l.logs, func(a, b run.Stream) int {
		return cmp.Or(cmp.Compare(size[b.Name], size[a.Name]), cmp.Compare(a.Name, b.Name))
	})
	l.obs.Streams = append(l.logs, l.exports...)
	l.labelGaps()
	if l.since != nil {
		source.Once(&l.obs, l.since)
		return l.obs, nil
	}
	if len(l.obs.Streams)+len(l.obs.Samples)+len(l.obs.Facts)+len(l.obs.Checkpoints) == 0 && l.obs.Pipeline == nil {
		return l.obs, l.nothing()
	}
	if len(l.logs) == 0 && l.obs.Pipeline == nil {
		l.gap("the log of the run", "there is no log among the files", "what the run wrote to standard output and standard error"+l.packed())
	}
	source.Once(&l.obs, nil)
	return l.obs, nil
}

func (l *look) nothing() error {
	if l.denied > 0 {
		return fmt.Errorf("artifacts: %s: this user may not read what is in it; run as its owner, or copy it to where you may: %w", l.name, source.ErrDenied)
	}
	return fmt.Errorf("artifacts: %s: no log, configuration or checkpoint in it; name the folder that holds the run's logs%s: %w", l.name, l.packed(), source.ErrNoEvidence)
}

// packed points at an archive that the run may lie in.
func (l *look) packed() string {
	if len(l.archives) == 0 {
		return ""
	}
	a := l.archives[0]
	return fmt.Sprintf("; if the run lies in %s, unpack it (%s), then pass the directory", a, file.Archive(a, nil))
}

// demote makes other text of a .txt that is not called a log, as soon as there
// is a real log: notes are not where a run ends.
func (l *look) demote() {
	real := slices.ContainsFunc(l.logs, func(s run.Stream) bool { return export.IsLogName(s.Name) })
	if !real {
		return
	}
	kept := l.logs[:0]
	for _, s := range l.logs {
		if strings.HasSuffix(strings.ToLower(s.Name), ".txt") && !export.IsLogName(s.Name) {
			s.Kind, s.Rank = "other", run.NoRank
			l.exports = append(l.exports, s)
		} else {
			kept = append(kept, s)
		}
	}
	l.logs = kept
}
