package vertextest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	lpb "cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// entries is a log that is kept.
type entries []*lpb.LogEntry

// Len implements Log.
func (e entries) Len() int { return len(e) }

// Time implements Log.
func (e entries) Time(i int) time.Time { return e[i].GetTimestamp().AsTime() }

// Entry implements Log.
func (e entries) Entry(i int) *lpb.LogEntry { return e[i] }

// SetLog takes the place of the log.
func (s *Server) SetLog(l Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = l
}

// Write adds entries, one JSON a line, as gcloud exports them. What the service
// fills in itself is filled in: the time of receipt, and the insertId.
func (s *Server) Write(lines string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, ok := s.log.(entries)
	if !ok {
		return fmt.Errorf("vertextest: the log is made up")
	}
	for l := range bytes.Lines([]byte(lines)) {
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		e := &lpb.LogEntry{}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(l, e); err != nil {
			return fmt.Errorf("vertextest: log entry %.100s: %w", l, err)
		}
		if e.GetReceiveTimestamp() == nil {
			e.ReceiveTimestamp = e.GetTimestamp()
		}
		if e.GetInsertId() == "" {
			e.InsertId = fmt.Sprintf("i%06d", len(all))
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b *lpb.LogEntry) int { return a.GetTimestamp().AsTime().Compare(b.GetTimestamp().AsTime()) })
	s.log = all
	return nil
}

// Line is an entry of a custom job as JSON, received when it was written.
func Line(job, replica string, at time.Time, message string) string {
	e := &lpb.LogEntry{Payload: &lpb.LogEntry_TextPayload{TextPayload: message}, Timestamp: timestamppb.New(at), Resource: resourceOf(job, replica)}
	b, err := protojson.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// ListLogEntries implements the service.
func (s *Server) ListLogEntries(_ context.Context, r *lpb.ListLogEntriesRequest) (*lpb.ListLogEntriesResponse, error) {
	s.mu.Lock()
	l := s.log
	s.mu.Unlock()
	if len(r.GetFilter()) > 20000 {
		return nil, status.Error(codes.InvalidArgument, "the filter is longer than 20000 characters")
	}
	f, err := parseFilter(r.GetFilter())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "Unparseable filter: %v", err)
	}
	size := int(r.GetPageSize())
	if size <= 0 || size > 1000 {
		size = 1000
	}
	desc := r.GetOrderBy() == "timestamp desc"
	from, to := f.bounds(l)
	at := from
	if desc {
		at = to - 1
	}
	if r.GetPageToken() != "" {
		if at, err = strconv.Atoi(r.GetPageToken()); err != nil {
			return nil, status.Error(codes.InvalidArgument, "bad page token")
		}
	}
	out := &lpb.ListLogEntriesResponse{}
	for ; at >= from && at < to; at += step(desc) {
		if f.searches && plain(l, at) {
			continue
		}
		if e := l.Entry(at); f.matches(e) {
			if len(out.Entries) == size {
				out.NextPageToken = strconv.Itoa(at)
				break
			}
			out.Entries = append(out.Entries, e)
		}
	}
	return out, nil
}

// plain reports whether a made up log says that an entry has no words that one
// searches for: a million regular expressions take long.
func plain(l Log, i int) bool {
	p, ok := l.(interface{ Plain(i int) bool })
	return ok && p.Plain(i)
}

func step(desc bool) int {
	if desc {
		return -1
	}
	return 1
}
