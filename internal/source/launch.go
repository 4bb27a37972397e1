package source

import "io"

// Launch is a run to be started. It gets a process group of its own and nothing
// on standard input, so that an interrupt in the terminal is not the run's, and
// it writes to its log itself, so that it goes on when nobody watches any more.
type Launch struct {
	Args     []string  // the command and its arguments
	Path     string    // the program's file; "" to look the first argument up
	Dir      string    // where it works; "" for the folder of this process
	Env      []string  // its environment; nil for that of this process
	LogDir   string    // where the log of its output is made; "" for the temporary folder
	Log      string    // an existing file that its output is appended to, instead of a new one; no link is followed
	Terminal io.Writer // gets its output too, as it comes; may be nil
	End      bool      // end the run when the context of the start ends; else it goes on
}

// Started is a run that was started here: how it ends is known exactly.
type Started interface {
	Source
	PID() int
	Log() string           // the path of its output, both streams in one
	Done() <-chan struct{} // closed when it ended and its output has been passed on
}
