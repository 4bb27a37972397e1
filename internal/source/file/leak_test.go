package file_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain wants every goroutine to end with its test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
