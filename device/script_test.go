package device

import (
	"os"
	"os/exec"
	"testing"
)

// The shell parts of an export have nothing that shellcheck objects to.
func TestScripts(t *testing.T) {
	tool, err := exec.LookPath("shellcheck")
	if err != nil {
		if os.Getenv("REQUIRE_SHELLCHECK") != "" {
			t.Fatal(err)
		}
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.Command(tool, "template/run.sh", "template/bench.sh", "testdata/fake/cxx", "testdata/fake/host", "testdata/fake/rocprofv3").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
