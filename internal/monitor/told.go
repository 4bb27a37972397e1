package monitor

import (
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

// Told is what a journal remembers of a watch.
type Told struct {
	Started time.Time
	Polls   int
	Events  []report.Event
}
