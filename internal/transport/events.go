package transport

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/door"
)

// maxOpen is how many requests of an SSE client may wait for their answers.
const maxOpen = 64

// events is the older transport: requests come by POST, answers on the stream of
// a GET. The library answers a POST at once and does not know when the stream
// is gone; this does.
type events struct {
	sse     *server.SSEServer
	books   *door.Sessions
	streams sync.Map // of *stream, by session
}

// stream is the GET of one client.
type stream struct {
	id    string
	alive context.Context // ends with the stream
	open  *unanswered
	out   *watched
	done  func()
}

type streamKey struct{}

func newEvents(s *Service, n Network, books *door.Sessions) *events {
	e := &events{books: books}
	e.sse = server.NewSSEServer(s.mcp,
		server.WithSessionIDGenerator(e.opened),
		server.WithSSEContextFunc(e.bind),
		server.WithKeepAliveInterval(beat),
		server.WithSSECORS(cors(n)...),
		server.WithSSEDisableLocalhostProtection(true), // the door knows the allowed names
	)
	return e
}

// ofEvents tells the session of a request.
func ofEvents(r *http.Request, _ []byte) door.Session {
	if r.URL.Path == "/sse" {
		return door.Session{Opens: true}
	}
	return door.Session{ID: r.URL.Query().Get("sessionId"), Needs: true}
}

// ServeHTTP implements http.Handler.
func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/sse":
		e.stream(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/message":
		e.post(w, r)
	default:
		e.sse.ServeHTTP(w, r)
	}
}

func (e *events) stream(w http.ResponseWriter, r *http.Request) {
	alive, gone := context.WithCancel(r.Context())
	defer gone()
	st := &stream{alive: alive, open: newUnanswered(), done: func() {}}
	st.out = &watched{reply: reply{ResponseWriter: w}, open: st.open}
	defer func() {
		st.out.end()
		e.streams.Delete(st.id)
		st.done()
		_, _ = e.books.Terminate(st.id) // it knows the name or has forgotten it
	}()
	e.sse.ServeHTTP(st.out, r.WithContext(context.WithValue(alive, streamKey{}, st)))
}

// opened gives a stream its session.
func (e *events) opened(_ context.Context, r *http.Request) (string, error) {
	st, ok := r.Context().Value(streamKey{}).(*stream)
	if !ok {
		return "", errors.New("transport: a session without a stream")
	}
	who, _ := door.Caller(r.Context())
	if st.id = e.books.Generate(who); st.id == "" {
		return "", errors.New("transport: too many sessions")
	}
	st.done = e.books.Use(st.id)
	e.streams.Store(st.id, st)
	return st.id, nil
}

// bind gives a call the stream on which its answer goes.
func (e *events) bind(ctx context.Context, r *http.Request) context.Context {
	if st, ok := e.streams.Load(r.URL.Query().Get("sessionId")); ok {
		ctx = context.WithValue(ctx, streamKey{}, st)
		ctx = context.WithValue(ctx, tellerKey{}, st.(*stream).out)
	}
	return ctx
}

func (e *events) post(w http.ResponseWriter, r *http.Request) {
	st, ok := e.streams.Load(r.URL.Query().Get("sessionId"))
	if !ok {
		http.Error(w, "the stream of this session is gone", http.StatusNotFound)
		return
	}
	body := door.Body(r)
	id, method := head(body)
	if id != "" && method == "" { // the answer to a ping; nothing else is asked on this transport
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if st.(*stream).open.len() >= maxOpen {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests wait for their answers", http.StatusTooManyRequests)
		return
	}
	st.(*stream).open.asked(body)
	e.sse.ServeHTTP(w, r)
}

// close ends the streams once their clients have their answers, or ctx ends.
func (e *events) close(ctx context.Context) {
	var wg sync.WaitGroup
	e.streams.Range(func(_, st any) bool {
		wg.Go(func() { st.(*stream).open.wait(ctx, grace) })
		return true
	})
	wg.Wait()
	e.sse.CloseSessions()
}

// watched is a stream that notes the answers that go out.
type watched struct {
	reply
	open *unanswered
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.reply.Write(b)
	for line := range bytes.Lines(b) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			w.open.answered(data)
		}
	}
	return n, err
}
