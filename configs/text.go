package configs

// Parse resolves a machine file that is at hand as text, such as the one that a
// trace carries; label names it in errors.
func Parse(label, text string) (*Resolved, error) { return parseBytes(label, []byte(text)) }
