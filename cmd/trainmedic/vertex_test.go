package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/vertextest"
)

// serveVertex starts a server of Vertex AI and Cloud Logging for the rest of the
// script: vertex FILE... with resources (.json) and log entries (.jsonl).
func serveVertex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: vertex FILE...")
	}
	s, stop, err := vertextest.Listen()
	ts.Check(err)
	ts.Defer(stop)
	for _, f := range args {
		if strings.HasSuffix(f, ".jsonl") {
			ts.Check(s.Write(ts.ReadFile(f)))
		} else {
			ts.Check(s.Put(ts.ReadFile(f)))
		}
	}
	ts.Setenv(cloud.EndpointEnv, s.Addr)
}
