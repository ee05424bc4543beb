package report

// Replay says what a replayed trace was recorded from.
type Replay struct {
	Trace          string `json:"trace" doc:"trace file"`
	Origin         string `json:"origin" doc:"who says what the waves did: run (a simulated run), att (a thread trace of hardware) or text"`
	RecordedOn     string `json:"recorded_on" doc:"hash of the machine that the trace was recorded on"`
	SameMachine    bool   `json:"same_machine" doc:"the replay ran on that machine"`
	RecordedCycles int64  `json:"recorded_cycles" unit:"cycles" doc:"what the recorded run took; 0 when the trace is no whole run"`
	Launches       int    `json:"launches" doc:"kernel launches in the trace"`
	Waves          int    `json:"waves" doc:"waves replayed"`
	Complete       bool   `json:"complete" doc:"the trace has every wave of its launches"`
}
