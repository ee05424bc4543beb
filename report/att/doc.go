// Package att reads and writes the folder that rocprofv3's thread trace leaves
// and ROCprof Compute Viewer opens: ui_output_agent_A_dispatch_D with code.json,
// filenames.json, occupancy.json, wstatesN.json and a file for every wave.
//
// The forms are those of folders recorded on MI325X and MI355X. Time is in core
// cycles.
package att

// Types of instructions in a wave's file.
const (
	TypeSMEM      = 1
	TypeSALU      = 2
	TypeVMEM      = 3
	TypeFLAT      = 4
	TypeLDS       = 5
	TypeVALU      = 6 // matrix instructions as well
	TypeJump      = 7 // taken
	TypeNext      = 8 // a branch not taken
	TypeImmediate = 9 // s_waitcnt, s_barrier, s_setprio, s_nop
	TypeMessage   = 11
)

// States of a wave in its timeline.
const (
	StateIdle  = 1
	StateExec  = 2
	StateWait  = 3
	StateStall = 4
)

// CodeRow is one instruction of code.json, over all traced waves. Latency is
// stall and issue together; Idle is the time before it in which the wave did not
// try to issue.
type CodeRow struct {
	ISA        string
	Line       int
	Source     string
	CodeObject int
	Address    int64
	Hit        int64
	Latency    int64
	Stall      int64
	Idle       int64
}

// Inst is one executed instruction of a wave.
type Inst struct {
	Time, Type, Stall, Duration int64
	Line                        int // of code.json
}

// Span is a state of a wave and its length.
type Span struct{ State, Length int64 }

// Wait is a line of code with the lines that it waited for, and how often.
type Wait struct {
	Line    int
	Sources [][2]int // line, number
}

// Wave is one traced wave.
type Wave struct {
	File           string
	SE, SIMD, Slot int
	Index          int // of the waves of that SE, SIMD and slot
	CU             int
	ID             int
	Begin, End     int64
	Insts          []Inst
	Timeline       []Span
	Waits          []Wait

	spanned int64 // length of Timeline
}

// Occupied is a wave that starts or ends.
type Occupied struct {
	Time           int64
	CU, SIMD, Slot int
	Start          bool
	Kernel         int
}

// States counts the waves in a state over time.
type States struct {
	Name   string
	Counts []int64
	Times  []int64
}

// Folder is a whole thread trace.
type Folder struct {
	Dir   string   `json:"-"` // that it was read from
	Notes []string `json:"-"` // what a reader should know, such as files that are missing

	Code       []CodeRow // in order of line
	Waves      []Wave    // in order of SE, SIMD, slot, index
	Occupancy  map[int][]Occupied
	Dispatches map[string]string
	States     [4]States // of StateIdle to StateStall
	GFX        string
}
