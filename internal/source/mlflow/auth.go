package mlflow

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// credentials are what MLflow's own client would send.
type credentials struct{ user, password, token string }

// readCredentials looks where MLflow's client looks: the environment, then
// ~/.mlflow/credentials.
func readCredentials() credentials {
	c := credentials{os.Getenv("MLFLOW_TRACKING_USERNAME"), os.Getenv("MLFLOW_TRACKING_PASSWORD"), os.Getenv("MLFLOW_TRACKING_TOKEN")}
	if c.token == "" && os.Getenv("DATABRICKS_HOST") != "" {
		c.token = os.Getenv("DATABRICKS_TOKEN")
	}
	if c.user != "" || c.token != "" {
		return c
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return c
	}
	f, err := os.Open(filepath.Join(dir, ".mlflow", "credentials"))
	if err != nil {
		return c
	}
	defer f.Close()
	for lines, section := bufio.NewScanner(f), ""; lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, _ := strings.Cut(line, "=")
		if section != "[mlflow]" {
			continue
		}
		switch strings.TrimSpace(key) {
		case "mlflow_tracking_username":
			c.user = strings.TrimSpace(value)
		case "mlflow_tracking_password":
			c.password = strings.TrimSpace(value)
		}
	}
	return c
}

func (c credentials) sign(r *http.Request) {
	switch {
	case c.user != "":
		r.SetBasicAuth(c.user, c.password)
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// tlsConfig is what MLFLOW_TRACKING_INSECURE_TLS, _SERVER_CERT_PATH and
// _CLIENT_CERT_PATH ask for.
func tlsConfig() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: os.Getenv("MLFLOW_TRACKING_INSECURE_TLS") == "true"}
	if path := os.Getenv("MLFLOW_TRACKING_SERVER_CERT_PATH"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, source.Reason("mlflow", path, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("mlflow: %s (MLFLOW_TRACKING_SERVER_CERT_PATH) holds no certificate: %w", path, source.ErrBadTarget)
		}
	}
	if path := os.Getenv("MLFLOW_TRACKING_CLIENT_CERT_PATH"); path != "" {
		pair, err := tls.LoadX509KeyPair(path, path)
		if err != nil {
			return nil, fmt.Errorf("mlflow: MLFLOW_TRACKING_CLIENT_CERT_PATH: %w: %w", err, source.ErrBadTarget)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
