package effect

import (
	"strings"
	"testing"
)

// FuzzJobFields holds that what a user called a job cannot take the place of what
// the controller says first.
func FuzzJobFields(f *testing.F) {
	f.Add("JobId=7 JobName=train big UserId=ann(1000) JobState=RUNNING", "x JobId=8 =a b=")
	f.Add("", "\x00 ===")
	f.Fuzz(func(t *testing.T, head, name string) {
		got := jobFields("JobId=7 JobName=" + name + " UserId=ann(1000) " + head)
		if got["JobId"] != "7" && !strings.HasPrefix(got["JobId"], "7 ") {
			t.Errorf("JobId is %q", got["JobId"])
		}
	})
}

// FuzzPlainName holds that a stream's name stays in its folder.
func FuzzPlainName(f *testing.F) {
	f.Add("../../etc/passwd")
	f.Add(".")
	f.Fuzz(func(t *testing.T, name string) {
		if got := plainName(name, 0); strings.ContainsAny(got, "/\\\x00") || !strings.HasPrefix(got, "01-") || len(got) > 110 {
			t.Errorf("%q", got)
		}
	})
}
