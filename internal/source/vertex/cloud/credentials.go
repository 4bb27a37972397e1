package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex/gcloud"
)

const (
	askLogin = "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account (gcloud auth login alone is not enough)."
	scope    = "https://www.googleapis.com/auth/cloud-platform"
)

// credentialsOf finds the application default credentials, and gets a token so
// that what is wrong with them is said here and not by the first call.
func credentialsOf(ctx context.Context) (*auth.Credentials, error) {
	creds, err := detect()
	if err != nil {
		return nil, noClient(err)
	}
	bounded, cancel := context.WithTimeout(ctx, usualDeadline)
	defer cancel()
	if _, err := creds.Token(bounded); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, noToken(err)
	}
	return creds, nil
}

// detect finds credentials as Google's library does, and also in the folder that
// CLOUDSDK_CONFIG names, in which gcloud writes them and the library does not look.
func detect() (*auth.Credentials, error) {
	opt := &credentials.DetectOptions{Scopes: []string{scope}}
	if os.Getenv("GOOGLE_APPLICATION_CREDENTIALS") == "" && os.Getenv("CLOUDSDK_CONFIG") != "" {
		file := gcloud.Env{}.Credentials()
		if b, err := os.ReadFile(file); err == nil {
			var kind struct {
				Type credentials.CredType `json:"type"`
			}
			json.Unmarshal(b, &kind) //nolint:errcheck // the library says what is wrong with it
			return credentials.NewCredentialsFromJSON(kind.Type, b, opt)
		}
	}
	return credentials.DetectDefault(opt)
}

// noClient says why there are no credentials.
func noClient(err error) error {
	file := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	why := "no Google credentials"
	switch {
	case strings.Contains(err.Error(), "could not find default credentials"):
	case file != "" && errors.Is(err, os.ErrNotExist):
		why = fmt.Sprintf("GOOGLE_APPLICATION_CREDENTIALS names %s, which is not there", file)
	case file != "":
		why = fmt.Sprintf("GOOGLE_APPLICATION_CREDENTIALS names %s, which is no usable key", file)
	default:
		why = "the Google credentials cannot be used"
	}
	return &source.Advice{Err: fmt.Errorf("vertex: %s: %w", why, source.ErrDenied), Ask: askLogin}
}

// noToken says why credentials give no token. The body of the answer may hold
// anything; only the words for its kind are taken.
func noToken(err error) error {
	var refused *auth.Error
	if !errors.As(err, &refused) {
		return &source.Advice{
			Err: fmt.Errorf("vertex: the server that gives tokens does not answer: %w", source.ErrUnreachable),
			Ask: "Check the network and the proxy settings, then try again.",
		}
	}
	var body struct {
		Error       string `json:"error"`
		Subtype     string `json:"error_subtype"`
		Description string `json:"error_description"`
	}
	json.Unmarshal(refused.Body, &body) //nolint:errcheck // what is no JSON says nothing
	word := func(s string) bool {
		return s != "" && len(s) < 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
	}
	why := "refused"
	if word(body.Error) {
		why = body.Error
	}
	if word(body.Subtype) {
		why += " (" + body.Subtype + ")"
	}
	if refused.Response != nil && refused.Response.StatusCode >= 500 {
		return &source.Advice{
			Err: fmt.Errorf("vertex: the server that gives tokens answers %d: %w", refused.Response.StatusCode, source.ErrUnreachable),
			Ask: "Try again in a minute.",
		}
	}
	return &source.Advice{Err: fmt.Errorf("vertex: the Google credentials give no token, they are expired or revoked: %s: %w", why, source.ErrDenied), Ask: askLogin}
}
