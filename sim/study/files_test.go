package study

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads"
)

// The repository's studies have the points that their documents speak of, and
// every one builds a kernel that fits its machine.
func TestStudyFiles(t *testing.T) {
	for name, points := range map[string]int{"lds-l2": 24, "wave-specialization": 15} {
		s, err := Read(filepath.Join("..", "..", "studies", name+".yaml"), false)
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Estimates(filepath.Join(t.TempDir(), "none"))
		if err != nil || len(all) != points {
			t.Errorf("%s: %d points, %v; want %d", name, len(all), err, points)
		}
		for _, e := range all {
			if e.Note != "" {
				t.Errorf("%s, point %d: %s", name, e.Point, e.Note)
			}
		}
	}
}

// In the wave-specialization study a machine has the features that its kernel
// uses and no other.
func TestWaveSpecializationSwitches(t *testing.T) {
	s, err := Read(filepath.Join("..", "..", "studies", "wave-specialization.yaml"), false)
	if err != nil {
		t.Fatal(err)
	}
	for p, err := range s.Points() {
		if err != nil {
			t.Fatal(err)
		}
		used, err := workloads.ParseFeatures(p.get("features", ""))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range isa.FeatureNames() {
			f, _ := isa.FeatureNamed(name)
			if name == "all" {
				continue
			}
			if on := p.get("features."+name, ""); on != fmt.Sprint(used&f != 0) {
				t.Errorf("point %d uses %q, and its features.%s is %s", p.Index, p.get("features", ""), name, on)
			}
		}
	}
}
