package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// baseline is what people do without a program like this one. It sees the lines
// of all files of a run and says a class, failed where it only sees that
// something is wrong, or none.
type baseline struct {
	name string
	says func(lines []string) string
}

// failed is the answer of who cannot say why.
const failed = "failed"

var baselines = []baseline{
	{"exit code in the log", exitCode},
	{"grep for errors in the last 200 lines", tailGrep},
	{"a list of twelve rules, the first that matches", ruleList},
}

var exited = regexp.MustCompile(`(?i)\bexit(?:ed)?(?:[ _]?(?:with|code|status))*[ =:"']+(-?\d+)`)

// exitCode looks for the last exit status that the files tell.
func exitCode(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if m := exited.FindStringSubmatch(l); m != nil {
			if m[1] == "0" {
				return none
			}
			return failed
		}
	}
	return none
}

var complaints = regexp.MustCompile(`(?i)\b(?:error|exception|traceback|fatal|failed|failure|killed|abort(?:ed)?|segfault|core dumped|out of memory|nan|inf|timeout|timed out)\b|[a-z]Error\b`)

func tailGrep(lines []string) string {
	if slices.ContainsFunc(lines[max(0, len(lines)-200):], complaints.MatchString) {
		return failed
	}
	return none
}

// rules are what one finds in runbooks: the most telling first.
var rules = []struct {
	class string
	re    *regexp.Regexp
}{
	{"oom", regexp.MustCompile(`(?i)CUDA out of memory|OutOfMemoryError|RESOURCE_EXHAUSTED: Out of memory|OOMKilled|oom-kill|CUBLAS_STATUS_ALLOC_FAILED|std::bad_alloc|Cannot allocate memory`)},
	{"cuda-runtime", regexp.MustCompile(`(?i)device-side assert|illegal memory access|CUDA error|CUDNN_STATUS|CUBLAS_STATUS|\bXid\b|no kernel image`)},
	{"nan-inf", regexp.MustCompile(`(?i)loss[=: ]+(?:nan|inf)\b|nan detected|contains? nan|non-?finite|loss scale.*minimum|Current loss scale already at minimum`)},
	{"cloud-permissions-quota", regexp.MustCompile(`(?i)quota|PERMISSION_DENIED|ResourceLimitExceeded|AccessDenied|stockout|insufficient capacity`)},
	{"io-checkpoint", regexp.MustCompile(`(?i)No space left on device|Disk quota exceeded|Error\(s\) in loading state_dict|PytorchStreamReader|safetensors.*Error|Read-only file system|checkpoint.*(?:corrupt|not found)`)},
	{"nccl-distributed", regexp.MustCompile(`(?i)NCCL (?:error|WARN|timeout)|Watchdog caught collective|ncclSystemError|Connection (?:refused|reset by peer)|Rendezvous|ProcessGroup.*timeout|Address already in use`)},
	{"data-pipeline", regexp.MustCompile(`(?i)DataLoader worker|UnicodeDecodeError|UnidentifiedImageError|JSONDecodeError|in collate|Target \d+ is out of bounds|ParserError`)},
	{"pipeline-orchestration", regexp.MustCompile(`(?i)ImagePullBackOff|PIPELINE_STATE_FAILED|CrashLoopBackOff|component.*failed`)},
	{"config-error", regexp.MustCompile(`(?i)unrecognized arguments|unexpected keyword argument|ModuleNotFoundError|ImportError|KeyError|ValueError|TypeError|AttributeError|ValidationError|NameError`)},
	{"process-crash", regexp.MustCompile(`(?i)Segmentation fault|core dumped|SIGSEGV|SIGBUS|SIGKILL|exitcode: -\d+|Traceback`)},
	{"optimization-divergence", regexp.MustCompile(`(?i)diverg|loss explod|gradient explo`)},
	{"stalled", regexp.MustCompile(`(?i)KeyboardInterrupt|DUE TO TIME LIMIT|no progress|hang|stuck`)},
}

func ruleList(lines []string) string {
	text := strings.Join(lines, "\n")
	for _, r := range rules {
		if r.re.MatchString(text) {
			return r.class
		}
	}
	return none
}

// seen are the lines of a run's files, or of one log. Files that are no text
// and the truth are left out.
func seen(path string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || slices.Contains(truths, e.Name()) {
			return err
		}
		text, err := os.ReadFile(p)
		if err == nil && !bytes.Contains(text, []byte{0}) {
			all = append(all, strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })...)
		}
		return err
	})
	return all, err
}

// ask has all baselines look at a run.
func ask(path string) (answers []string, err error) {
	lines, err := seen(path)
	for _, b := range baselines {
		answers = append(answers, b.says(lines))
	}
	return answers, err
}
