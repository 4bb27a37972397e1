//go:build !cgo || !linux

package gpu

import (
	"context"
	"time"
)

// byNVML has no NVML in this build.
func byNVML(context.Context, time.Duration) (Seen, error) { return Seen{}, ErrNone }
