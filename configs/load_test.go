package configs

import "testing"

func TestSmoke(t *testing.T) {
	for _, n := range Names() {
		r, err := Load(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(n, r.Hash(), len(r.Leaves()))
	}
}
