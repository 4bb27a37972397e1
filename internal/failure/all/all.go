// Package all is the list of failure classes, in the order of the documents.
package all

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/failure/cloudquota"
	"github.com/trainmedic/trainmedic/internal/failure/config"
	"github.com/trainmedic/trainmedic/internal/failure/crash"
	"github.com/trainmedic/trainmedic/internal/failure/cuda"
	"github.com/trainmedic/trainmedic/internal/failure/datapipeline"
	"github.com/trainmedic/trainmedic/internal/failure/divergence"
	"github.com/trainmedic/trainmedic/internal/failure/evalmismatch"
	"github.com/trainmedic/trainmedic/internal/failure/healthy"
	"github.com/trainmedic/trainmedic/internal/failure/iocheckpoint"
	"github.com/trainmedic/trainmedic/internal/failure/naninf"
	"github.com/trainmedic/trainmedic/internal/failure/nccl"
	"github.com/trainmedic/trainmedic/internal/failure/oom"
	"github.com/trainmedic/trainmedic/internal/failure/pipeline"
	"github.com/trainmedic/trainmedic/internal/failure/stalled"
)

// Book compiles every class; a mistake in an embedded signature is a programming
// error and a test finds it.
func Book() (*failure.Book, error) {
	return failure.NewBook(
		naninf.Class(),
		oom.Class(),
		divergence.Class(),
		cuda.Class(),
		nccl.Class(),
		datapipeline.Class(),
		config.Class(),
		iocheckpoint.Class(),
		stalled.Class(),
		crash.Class(),
		evalmismatch.Class(),
		pipeline.Class(),
		cloudquota.Class(),
		healthy.Class(),
	)
}
