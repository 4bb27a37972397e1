package report

// Failure is why there is no answer, and the smallest thing to ask for. Both
// faces send it inside an ErrorEnvelope.
type Failure struct {
	Kind    ErrorKind `json:"kind" jsonschema:"enum=usage,enum=bad_target,enum=not_found,enum=denied,enum=unreachable,enum=no_evidence,enum=timeout,enum=cancelled,enum=internal"`
	Message string    `json:"message"`
	Ask     string    `json:"ask"`
}

// ErrorEnvelope is the JSON of a failed command or tool call.
type ErrorEnvelope struct {
	Error Failure `json:"error"`
}

// ErrorKind is what kind of failure it was; a program may branch on it.
type ErrorKind string

// The kinds of failure.
const (
	KindUsage       ErrorKind = "usage"
	KindBadTarget   ErrorKind = "bad_target"
	KindNotFound    ErrorKind = "not_found"
	KindDenied      ErrorKind = "denied"
	KindUnreachable ErrorKind = "unreachable"
	KindNoEvidence  ErrorKind = "no_evidence"
	KindTimeout     ErrorKind = "timeout"
	KindCancelled   ErrorKind = "cancelled"
	KindInternal    ErrorKind = "internal"
)
