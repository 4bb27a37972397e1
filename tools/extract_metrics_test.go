package tools_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"testing"

	"github.com/trainmedic/trainmedic/tools"
)

func TestAPictureComesBesideTheNumbers(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	a := c.request("tools/call", map[string]any{"name": "extract_metrics", "arguments": map[string]any{"target": trainLog(t, 300), "plot": true}})
	var r struct {
		Content []struct{ Type, Data, MIMEType string } `json:"content"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil || len(r.Content) != 2 || r.Content[1].Type != "image" || r.Content[1].MIMEType != "image/png" {
		t.Fatalf("%v: %+v", err, r)
	}
	b, err := base64.StdEncoding.DecodeString(r.Content[1].Data)
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(b)); err != nil || img.Bounds().Dy() < 500 || len(b) > 200<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
