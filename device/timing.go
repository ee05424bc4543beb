package device

// Timing is what the host program prints.
type Timing struct {
	Kernel string `json:"kernel"`
	DType  string `json:"dtype"`
	Device struct {
		Name        string `json:"name"`
		Arch        string `json:"arch"`
		CUs         int    `json:"cus"`
		MaxClockMHz int    `json:"max_clock_mhz"`
	} `json:"device"`
	Verify *struct {
		Values           int64    `json:"values"`
		MaxRelativeError *float64 `json:"max_relative_error"` // nil: something was not a number
		Limit            float64  `json:"limit"`
		Passed           bool     `json:"passed"`
	} `json:"verify,omitempty"`
	Protocol struct {
		Warmup    int `json:"warmup"`
		Launches  int `json:"launches"`
		InputSets int `json:"input_sets"`
	} `json:"protocol"`
	Time    Spread         `json:"time"`
	TFLOPS  float64        `json:"tflops,omitempty"`
	TBs     float64        `json:"tbs,omitempty"`
	Kernels []KernelTiming `json:"kernels,omitempty"`
	TimesUS []float64      `json:"times_us"`
}

// Spread is the statistics of times.
type Spread struct {
	MedianUS float64 `json:"median_us"`
	MeanUS   float64 `json:"mean_us"`
	StddevUS float64 `json:"stddev_us"`
	MinUS    float64 `json:"min_us"`
	P10US    float64 `json:"p10_us"`
	P90US    float64 `json:"p90_us"`
	MaxUS    float64 `json:"max_us"`
}

// KernelTiming is one kernel of several.
type KernelTiming struct {
	Kernel string `json:"kernel"`
	Spread
}
