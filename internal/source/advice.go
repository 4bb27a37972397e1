package source

// Advice is an error whose source knows better than a face what to do next: Ask
// is a sentence for a person, with the command to run.
type Advice struct {
	Err error
	Ask string
}

// Error implements error.
func (a *Advice) Error() string { return a.Err.Error() }

// Unwrap gives the error to errors.Is.
func (a *Advice) Unwrap() error { return a.Err }
