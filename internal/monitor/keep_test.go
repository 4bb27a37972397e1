package monitor

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheLineOfALookHasRoomForWhatIsMissing(t *testing.T) {
	for name, why := range map[string]string{"short": "no space left on device", "long": strings.Repeat("a", 400), "wide": strings.Repeat("é", 400)} {
		got := statusLine("[00:00:00] Step 1/10", errors.New(why))
		if !strings.Contains(got, " | not on disk: ") || !utf8.ValidString(got) || utf8.RuneCountInString(got) > lineBytes {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := statusLine("all is well", nil); got != "all is well" {
		t.Error(got)
	}
}
