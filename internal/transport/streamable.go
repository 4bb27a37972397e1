package transport

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/door"
)

// streamable is streamable HTTP, both eras of the protocol on one path.
type streamable struct{ *server.StreamableHTTPServer }

func newStreamable(s *Service, n Network, books *door.Sessions) *streamable {
	h := &streamable{server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdManagerResolver(ofCaller{books}),
		server.WithHeartbeatInterval(beat),
		server.WithStreamableHTTPLogger(logger(n)),
		server.WithStreamableHTTPCORS(cors(n)...),
		server.WithDisableLocalhostProtection(true), // the door knows the allowed names
	)}
	books.Ended = h.forget
	return h
}

// ofCaller gives each caller the sessions that are its own.
type ofCaller struct{ books *door.Sessions }

// ResolveSessionIdManager implements server.SessionIdManagerResolver; r is nil when
// the server ends.
func (o ofCaller) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	who := ""
	if r != nil {
		who, _ = door.Caller(r.Context())
	}
	return door.Of{Sessions: o.books, Who: who}
}

// ServeHTTP implements http.Handler. A client of the newer era cancels a call by
// closing its stream. The library would take a cancelling message too, and since
// that era has no sessions it would find the call of any client by its number.
func (h *streamable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m := message(door.Body(r)); modern(r, m) && m.Method == string(mcp.MethodNotificationCancelled) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := &reply{ResponseWriter: w}
	defer out.end()
	h.StreamableHTTPServer.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), tellerKey{}, out)))
}

// cors lets pages that may call read the answers. Without any, the name of none
// is given: the library then sends no permission at all.
func cors(n Network) []server.CORSOption {
	return []server.CORSOption{
		server.WithCORSAllowedOrigins(append([]string{"none"}, n.Origins...)...),
		server.WithCORSAllowedHeaders("Content-Type", "Authorization", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-ID"),
	}
}

// forget lets the transport drop what it keeps of a session that has ended: it
// has no other way than the client's own.
func (h *streamable) forget(id string) {
	r, err := http.NewRequest(http.MethodDelete, "/mcp", nil) //nolint:noctx // it goes nowhere
	if err != nil {
		return
	}
	r.Header.Set(server.HeaderKeySessionID, id)
	h.StreamableHTTPServer.ServeHTTP(nowhere{}, r)
}

// nowhere is where an answer goes that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// ofStreamable tells the session of a request. The newer era has none.
func ofStreamable(r *http.Request, body []byte) door.Session {
	m := message(body)
	switch {
	case modern(r, m):
		return door.Session{}
	case r.Method == http.MethodPost && m.Method == string(mcp.MethodInitialize):
		return door.Session{Opens: true}
	}
	return door.Session{ID: r.Header.Get(server.HeaderKeySessionID), Needs: true}
}

// modern reports whether a request is of the era without sessions.
func modern(r *http.Request, m heading) bool {
	return mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(m.Params.Meta.ProtocolVersion())
}

// heading is what a transport has to know of a message.
type heading struct {
	Method string `json:"method"`
	Params struct {
		Meta *mcp.Meta `json:"_meta"`
	} `json:"params"`
}

func message(body []byte) heading {
	var h heading
	_ = json.Unmarshal(body, &h) // what is no message is refused by the transport
	return h
}
