package all

import "testing"

func TestBookIsValid(t *testing.T) {
	if _, err := Book(); err != nil {
		t.Fatal(err)
	}
}
