package att

// ReadCode reads a code.json alone: the instructions with their sums over the
// traced waves.
func ReadCode(path string) ([]CodeRow, error) {
	var f Folder
	err := f.readCode(path)
	return f.Code, err
}
