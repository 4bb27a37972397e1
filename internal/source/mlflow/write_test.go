package mlflow

import (
	"database/sql"
	"net/url"
)

// connectTo opens a file to be written.
func connectTo(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
}
