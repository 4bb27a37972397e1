package monitor_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// logWriter starts a process that appends steps to the logs of n runs; what it
// returns waits until that is done.
func logWriter(t *testing.T, dir string, n int) (write func(from, to int)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TRAINMEDIC_TEST_WRITER="+dir, fmt.Sprintf("TRAINMEDIC_LOAD=%d", n))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	done := bufio.NewReader(out)
	return func(from, to int) {
		fmt.Fprintln(in, from, to)
		if _, err := done.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// writeLogs is that process.
func writeLogs(dir string) {
	t := &testing.T{}
	n, _ := strconv.Atoi(os.Getenv("TRAINMEDIC_LOAD"))
	var from, to int
	for {
		if _, err := fmt.Scanln(&from, &to); err != nil {
			return
		}
		for i := range n {
			appendTo(t, filepath.Join(dir, fmt.Sprintf("run%d.log", i)), steps(from, to, "2.4"))
		}
		fmt.Println("done")
	}
}
