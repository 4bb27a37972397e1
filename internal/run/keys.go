package run

// Keys of facts that a live source gives and others read. A fact of a live
// system has no From.File to point at; the newest of a key counts.
const (
	// FactLog is what became of a log since the last look, one of the words
	// below; From.File is the log's name.
	FactLog = "log.event"
)

// What can become of a log that is followed.
const (
	LogRotated   = "rotated"   // renamed, and a new file has its name; the rest of the old one was read first
	LogReplaced  = "replaced"  // a new file has its name, the old one is gone
	LogTruncated = "truncated" // it was emptied, and written anew from its start or behind a hole
	LogVanished  = "vanished"  // no file has its name
	LogBack      = "back"      // a file has its name again
)
