package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Bounds of a conversation with a server.
const (
	maxAnswer   = 64 << 20
	answerIn    = 60 * time.Second
	tries       = 4
	longestWait = 20 * time.Second
)

// server is a tracking server.
type server struct {
	base    string // with its scheme, without a slash at the end
	client  *http.Client
	creds   credentials
	waited  time.Duration // because it asked to, since the last look
	firstIn time.Duration // the wait after a first refusal
}

func newServer(base string) (store, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("mlflow: the address of the server cannot be read; want http://HOST:PORT: %w", source.ErrBadTarget)
	}
	s := &server{creds: readCredentials(), firstIn: time.Second}
	if u.User != nil { // MLflow takes them from the address, too
		s.creds.user = u.User.Username()
		s.creds.password, _ = u.User.Password()
		u.User = nil
	}
	s.base = strings.TrimSuffix(u.String(), "/")
	conf, err := tlsConfig()
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = conf
	s.client = &http.Client{Transport: t, Timeout: answerIn}
	return s, nil
}

func (s *server) close() error {
	s.client.CloseIdleConnections()
	return nil
}

// call asks one question; a body makes it a POST. A server that is busy is asked
// again, later each time.
func (s *server) call(ctx context.Context, path string, query url.Values, body, answer any) error {
	wait := s.firstIn
	for try := 1; ; try++ {
		again, after, err := s.once(ctx, path, query, body, answer)
		if err == nil || !again || try == tries {
			return err
		}
		if after > 0 {
			wait = after
		}
		wait = min(wait, longestWait)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
		s.waited += wait
		wait *= 2
	}
}

func (s *server) once(ctx context.Context, path string, query url.Values, body, answer any) (again bool, after time.Duration, err error) {
	method, in := http.MethodGet, io.Reader(nil)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return false, 0, err
		}
		method, in = http.MethodPost, bytes.NewReader(b)
	}
	address := s.base + "/api/2.0/mlflow/" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, in)
	if err != nil {
		return false, 0, fmt.Errorf("mlflow: %s: %w", path, source.ErrBadTarget)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	s.creds.sign(req)
	resp, err := s.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return false, 0, ctx.Err()
		}
		return false, 0, fmt.Errorf("mlflow: %s does not answer; is the server up, and the address right? %w: %w", s.base, bare(err), source.ErrUnreachable)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return true, 0, fmt.Errorf("mlflow: %s: %s: the answer breaks off: %w: %w", s.base, path, err, source.ErrUnreachable)
	case len(b) > maxAnswer:
		return false, 0, fmt.Errorf("mlflow: %s: %s: the answer is larger than %d MB: %w", s.base, path, maxAnswer>>20, source.ErrUnreachable)
	case resp.StatusCode == http.StatusOK:
		if err := json.Unmarshal(b, answer); err != nil {
			return false, 0, fmt.Errorf("mlflow: %s answers no JSON; is it an MLflow tracking server? %w", s.base, source.ErrBadTarget)
		}
		return false, 0, nil
	}
	return s.refused(resp, b, path)
}

// bare is an error of a request without its address, which may hold a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// refused turns a status into an error that says what to do.
func (s *server) refused(resp *http.Response, body []byte, path string) (again bool, after time.Duration, err error) {
	var said struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &said) != nil {
		said.Message = http.StatusText(resp.StatusCode)
	}
	if len(said.Message) > 300 {
		said.Message = said.Message[:300] + "…"
	}
	switch code := resp.StatusCode; {
	case said.Code == "RESOURCE_DOES_NOT_EXIST":
		return false, 0, fmt.Errorf("mlflow: %s: %s: %w", s.base, said.Message, source.ErrNotFound)
	case code == http.StatusUnauthorized:
		return false, 0, fmt.Errorf("mlflow: %s wants credentials, or does not take these: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, or write ~/.mlflow/credentials: %w", s.base, source.ErrDenied)
	case code == http.StatusForbidden:
		return false, 0, fmt.Errorf("mlflow: %s: this user may not read the run (%s); ask for READ permission on its experiment: %w", s.base, said.Message, source.ErrDenied)
	case code == http.StatusNotFound:
		return false, 0, fmt.Errorf("mlflow: %s has no %s; is it an MLflow tracking server, and the path in its address right? %w", s.base, path, source.ErrNotFound)
	case code == http.StatusTooManyRequests, code >= 500:
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
			after = time.Duration(n) * time.Second
		}
		return true, after, fmt.Errorf("mlflow: %s is overloaded or broken (%d %s); it was asked %d times: %w", s.base, code, said.Message, tries, source.ErrUnreachable)
	}
	return false, 0, fmt.Errorf("mlflow: %s: %s: %d %s: %w", s.base, path, resp.StatusCode, said.Message, source.ErrUnreachable)
}
