// Package references holds the documents for people and agents: the catalogue
// of failures, log formats, the vocabulary. They are embedded, so that they
// always belong to the program that quotes them.
package references

import "embed"

// Files are the documents, one Markdown file each.
//
//go:embed *.md
var Files embed.FS
