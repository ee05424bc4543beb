package html

import "github.com/whisker-sim/whisker/report"

// Style is how the page draws one kind of segment: a colour and a pattern of a
// second colour on it. Kinds are told apart by lightness or by pattern, so that
// neither greyscale nor a colour-blind reader loses any; a test holds that.
type Style struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Fill    string `json:"fill"`
	Ink     string `json:"ink"`
	Pattern string `json:"pattern"` // solid, slash, backslash, rows, columns, dots, cross, checker
	Stall   bool   `json:"stall"`
}

// issueStyles and stallStyles follow report.IssueClasses and
// report.StallReasons. A wait has the hue of what it waits for.
var issueStyles = map[string]Style{
	"valu":     {Fill: "#c8500a", Ink: "#c8500a", Pattern: "solid"},
	"mfma":     {Fill: "#12307a", Ink: "#12307a", Pattern: "solid"},
	"salu":     {Fill: "#e0a52a", Ink: "#e0a52a", Pattern: "solid"},
	"smem":     {Fill: "#8c2d72", Ink: "#f3dcec", Pattern: "dots"},
	"vmem":     {Fill: "#8c2d72", Ink: "#8c2d72", Pattern: "solid"},
	"lds":      {Fill: "#1fa37c", Ink: "#1fa37c", Pattern: "solid"},
	"branch":   {Fill: "#e0a52a", Ink: "#4d3600", Pattern: "slash"},
	"internal": {Fill: "#8a8a8a", Ink: "#ffffff", Pattern: "rows"},
}

var stallStyles = map[string]Style{
	"waitcnt_vmcnt":   {Fill: "#f0dcea", Ink: "#8c2d72", Pattern: "slash"},
	"waitcnt_lgkmcnt": {Fill: "#d3f0e6", Ink: "#12795a", Pattern: "backslash"},
	"barrier":         {Fill: "#ececec", Ink: "#555555", Pattern: "columns"},
	"dependency":      {Fill: "#fbe3d6", Ink: "#c8500a", Pattern: "dots"},
	"matrix_busy":     {Fill: "#bccdf4", Ink: "#bccdf4", Pattern: "solid"},
	"valu_busy":       {Fill: "#fbe3d6", Ink: "#c8500a", Pattern: "rows"},
	"lds_queue_full":  {Fill: "#d3f0e6", Ink: "#12795a", Pattern: "cross"},
	"vmem_queue_full": {Fill: "#f0dcea", Ink: "#8c2d72", Pattern: "checker"},
	"arbitration":     {Fill: "#fff3cc", Ink: "#a87400", Pattern: "grid"},
	"fetch":           {Fill: "#ffffff", Ink: "#777777", Pattern: "slash-wide"},
	"sleep":           {Fill: "#f7f7f7", Ink: "#f7f7f7", Pattern: "solid"},
}

// Styles lists the styles in the page's numbering: issue classes, then stalls.
func Styles() []Style {
	var out []Style
	for _, n := range report.IssueClasses {
		s := issueStyles[n.Name]
		s.Name, s.Doc = n.Name, n.Doc
		out = append(out, s)
	}
	for _, n := range report.StallReasons {
		s := stallStyles[n.Name]
		s.Name, s.Doc, s.Stall = n.Name, n.Doc, true
		out = append(out, s)
	}
	return out
}

// GroupColours tell wave groups apart in the matrix pipe: dark and light, blue
// and orange.
var GroupColours = []string{"#12307a", "#f0a830", "#1fa37c", "#8c2d72"}

// XCDColours tell dies apart; the page writes the die's number too.
var XCDColours = []string{"#12307a", "#f0c050", "#8c2d72", "#7fd0b4", "#c8500a", "#9db7e8", "#1a6b52", "#f2c3de"}
