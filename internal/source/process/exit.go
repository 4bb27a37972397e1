package process

import (
	"strconv"
	"syscall"

	"github.com/trainmedic/trainmedic/internal/run"
)

var signals = map[syscall.Signal]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
	11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
}

// exitFacts are a wait status as a shell says it: the code, or 128 and the
// signal, and the signal's name.
func exitFacts(w syscall.WaitStatus) []run.Fact {
	switch {
	case w.Signaled():
		return []run.Fact{{Key: run.FactExitCode, Value: strconv.Itoa(128 + int(w.Signal()))}, {Key: run.FactExitSig, Value: signalName(w.Signal())}}
	case w.Exited():
		return []run.Fact{{Key: run.FactExitCode, Value: strconv.Itoa(w.ExitStatus())}}
	}
	return nil
}

func signalName(s syscall.Signal) string {
	if name := signals[s]; name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(s))
}
